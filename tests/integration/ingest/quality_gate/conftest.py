"""Workspaces with golden queries: a zoo where headings matter, and a shelf where the size of chunks does."""

import pytest

from ingest.models import Job
from kebab.people.operator import command_line_access
from search.embedders import configured
from search.evaluation.judged import JudgedTopic, Qrel
from search.evaluation.topic_sets import store_topics
from search.models import Document
from tests.support.corpus import chunk, make_workspace, write
from tests.support.jobs import embed, upload, work
from tests.support.search import finish_syncs, sync

FIRST, SECOND = "hash:512", "hash:2"
FILLER = "\n\n".join(["They walk and rest and eat and drink in the shade of old trees by the river."] * 8)
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


def judge_golden(workspace, judged, source="docs"):
    """Store golden topics: the relevant path by query."""
    store_topics(
        command_line_access(workspace),
        [
            JudgedTopic(topic_id=query, text=query, qrels=(Qrel(path=path, source=source),))
            for query, path in judged.items()
        ],
    )


@pytest.fixture
def golden(zoo):
    """Judge for each name that the document under its heading is relevant."""
    judge_golden(zoo, {name: f"page-{n}.md" for n, name in enumerate(NAMES)})
    return zoo


@pytest.fixture
def shelf(transactional_db, mirrors, blobs, settings, embedders):
    """Return a workspace: one document has both words in one chunk, others have one of them often."""
    settings.KEBAB_EMBEDDER = "none"
    workspace = make_workspace()
    texts = {"animals.md": f"# Animals\n\nThe quokka.\n\n{FILLER}\n\nA numbat.\n"}
    for word in ("quokka", "numbat"):
        texts |= {f"{word}-{n}.md": f"{word} {word} {word} number {n}\n" for n in range(2)}
    jobs = [upload(workspace, path, text.encode()) for path, text in texts.items()]
    assert {work(job).state for job in jobs} == {"succeeded"}
    finish_jobs(workspace)
    yield workspace
    finish_syncs()


@pytest.fixture
def judged_shelf(shelf):
    topic = JudgedTopic(topic_id="quokka", text="quokka numbat", qrels=(Qrel(path="animals.md"),))
    store_topics(command_line_access(shelf), [topic])
    return shelf


def finish_jobs(workspace):
    """Run all open jobs, embedding last."""
    while job := Job.objects.in_workspace(workspace).filter(state="queued").exclude(kind="embed").first():
        work(job)
    embed(workspace)
    sync(workspace)
    workspace.refresh_from_db()


def versions(workspace):
    return set(Document.objects.in_workspace(workspace).values_list("chunker_version", flat=True))
