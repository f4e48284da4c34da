"""A workspace with golden queries that only headings answer, so that their weight matters."""

import pytest

from kebab.people.operator import command_line_access
from search.embedders import configured
from search.evaluation.judged import JudgedTopic, Qrel
from search.evaluation.topic_sets import store_topics
from tests.support.corpus import chunk, make_workspace, write
from tests.support.search import finish_syncs, sync

FIRST, SECOND = "hash:512", "hash:2"
NAMES = ("zebra", "walrus", "otter", "badger", "ibis")


@pytest.fixture
def embedders(settings):
    """Configure two embedders; under the second nearly all texts are close to each other."""
    settings.KEBAB_EMBEDDER, settings.KEBAB_EMBEDDERS = FIRST, [SECOND]
    configured.clear_query_caches()
    yield
    configured.clear_query_caches()


@pytest.fixture
def zoo(transactional_db, mirrors, embedders):
    """Write for each name a document with it as heading and one that mentions it."""
    workspace = make_workspace()
    for n, name in enumerate(NAMES):
        write(workspace, f"page-{n}.md", chunk("It lives here with all others of its kind.", heading=name))
        write(workspace, f"about-{n}.md", chunk(f"The {name} is mentioned.", heading="Notes"))
    sync(workspace)
    workspace.refresh_from_db()
    yield workspace
    finish_syncs()


def judge_golden(workspace, judged):
    """Store golden topics: the relevant path by query."""
    store_topics(
        command_line_access(workspace),
        [
            JudgedTopic(topic_id=query, text=query, qrels=(Qrel(path=path, source="docs"),))
            for query, path in judged.items()
        ],
    )


@pytest.fixture
def golden(zoo):
    """Judge for each name that the document under its heading is relevant."""
    judge_golden(zoo, {name: f"page-{n}.md" for n, name in enumerate(NAMES)})
    return zoo
