"""A workspace whose golden queries are answered by headings, so that their weight is worth something."""

import pytest

from kebab.people.operator import command_line_access
from search.embedders import configured
from search.evaluation.judged import JudgedTopic, Qrel
from search.evaluation.topic_sets import store_topics
from tests.support.corpus import chunk, make_workspace, write
from tests.support.searching import finish_syncs, sync

FIRST, SECOND = "hash:512", "hash:2"
NAMES = ("zebra", "walrus", "otter", "badger", "ibis")


@pytest.fixture
def embedders(settings):
    """Two embedders: of the second nearly everything is near to everything."""
    settings.KEBAB_EMBEDDER, settings.KEBAB_EMBEDDERS = FIRST, [SECOND]
    configured.clear_query_caches()
    yield
    configured.clear_query_caches()


@pytest.fixture
def zoo(transactional_db, mirrors, embedders):
    """For each name a document that has it for its heading, and one that mentions it."""
    workspace = make_workspace()
    for name in NAMES:
        write(workspace, f"{name}.md", chunk("It lives here with all others of its kind.", heading=name))
        write(workspace, f"about-{name}.md", chunk(f"The {name} is mentioned.", heading="Notes"))
    sync(workspace)
    workspace.refresh_from_db()
    yield workspace
    finish_syncs()


def judge_golden(workspace, judged):
    """Keep golden topics: what is relevant by query."""
    store_topics(
        command_line_access(workspace),
        [
            JudgedTopic(topic_id=query, text=query, qrels=(Qrel(path=path, source="docs"),))
            for query, path in judged.items()
        ],
    )


@pytest.fixture
def golden(zoo):
    """The zoo, where each name is asked for and the document under that heading is right."""
    judge_golden(zoo, {name: f"{name}.md" for name in NAMES})
    return zoo
