"""Documents rewritten during a search, between its mirror's state and its reads of Postgres."""

import numpy as np
import pytest

from search.corpus import delete_documents
from search.engine import corpus, hits, run
from search.engine import search as engine
from search.mirror import local_mirrors
from search.retrieval.types import Mode
from tests.support.corpus import write
from tests.support.runtime import use_reranker
from tests.support.search import ask, embed, finish_syncs, paths, sync

#: The modules that read Postgres, by the names of the reads.
READERS = {"read_visible": corpus, "read_hits": hits, "read_documents": run, "read_passages": run}


@pytest.fixture
def workspace(shared_workspace):
    yield shared_workspace
    finish_syncs()  # what searches triggered is done


@pytest.fixture
def before_read(monkeypatch):
    """Return a function that registers an action before the first reads of a kind, so many times."""

    def arrange(act, kind="read_hits", *, times=1):
        read, left = getattr(READERS[kind], kind), [times]

        def act_and_read(*arguments):
            if left[0] > 0:
                left[0] -= 1
                act()
            return read(*arguments)

        monkeypatch.setattr(READERS[kind], kind, act_and_read)

    return arrange


@pytest.fixture
def reads(monkeypatch):
    """Return the list of the names of reads of Postgres, in order."""
    names = []

    def note(name, module):
        read = getattr(module, name)

        def note_and_read(*arguments):
            names.append(name)
            return read(*arguments)

        monkeypatch.setattr(module, name, note_and_read)

    for name, module in READERS.items():
        note(name, module)
    return names


@pytest.fixture
def seq(workspace):
    written = write(workspace, "a.md", "apple first")
    sync(workspace)
    return written.seq


class EvenReranker:
    """A reranker that likes all passages alike."""

    name, gives_logits = "even", False

    def __init__(self):
        self.read = []

    def rerank(self, query, passages):
        self.read.extend(passages)
        return [0.5] * len(passages)


STAGES = [
    ("read_hits", {}),
    ("read_documents", {"per_file_cap": 1}),
    ("read_documents", {"rerank": True, "per_file_cap": 0}),
    ("read_passages", {"rerank": True, "per_file_cap": 0}),
    ("read_hits", {"cutoff": True, "per_file_cap": 0}),
]


@pytest.mark.parametrize(("kind", "options"), STAGES)
@pytest.mark.parametrize("mode", [Mode.LEXICAL, Mode.HYBRID])
def test_search_that_waited_for_a_change_finds_concurrent_writes(
    workspace, seq, before_read, monkeypatch, mode, kind, options
):
    use_reranker(monkeypatch, EvenReranker())
    embed(workspace)
    before_read(lambda: write(workspace, "a.md", "apple second"), kind)
    found = ask(workspace, "apple", mode, min_seq=seq, **options)
    assert (paths(found), found.hits[0].snippet) == (["a.md"], "apple second")
    assert (found.seq, found.lag, found.degraded) == (seq + 1, 0, ())


@pytest.mark.parametrize("mode", [Mode.LEXICAL, Mode.HYBRID])
def test_search_on_a_lagging_mirror_that_waited_finds_concurrent_writes(workspace, seq, before_read, mode):
    write(workspace, "b.md", "plum")
    before_read(lambda: write(workspace, "a.md", "apple second"), "read_visible")
    found = ask(workspace, "apple", mode, min_seq=seq)
    assert (paths(found), found.hits[0].snippet) == (["a.md"], "apple second")
    assert (found.seq, found.lag) == (seq + 2, 0)


def test_candidates_of_a_mirror_at_the_head_are_not_read(workspace, seq, reads):
    embed(workspace)
    for mode in Mode:
        reads.clear()
        assert paths(ask(workspace, "apple", mode)) == ["a.md"]
        assert reads == ["read_hits"]


def test_candidates_of_a_lagging_mirror_are_read(workspace, seq, reads, monkeypatch):
    monkeypatch.setattr(local_mirrors, "trigger_sync", lambda workspace_id: None)
    write(workspace, "b.md", "apple second")
    for mode in (Mode.LEXICAL, Mode.HYBRID):
        reads.clear()
        found = ask(workspace, "apple", mode)
        assert (paths(found), found.lag) == (["a.md"], 1)
        assert reads == ["read_visible", "read_hits"]


@pytest.mark.parametrize(("kind", "options"), STAGES)
def test_deleted_hit_is_replaced_by_the_next_one(workspace, before_read, monkeypatch, kind, options):
    use_reranker(monkeypatch, EvenReranker())
    first = write(workspace, "a.md", "apple apple").doc_id
    write(workspace, "b.md", "apple and other words")
    sync(workspace)
    assert paths(ask(workspace, "apple", k=1, **options)) == ["a.md"]
    before_read(lambda: delete_documents(workspace, [first]), kind)
    found = ask(workspace, "apple", k=1, **options)
    assert [(hit.rank, hit.doc_path) for hit in found.hits] == [(1, "b.md")]
    assert (found.lag, found.degraded) == (1, ())


def test_reranker_gets_no_text_of_a_deleted_document(workspace, before_read, monkeypatch):
    use_reranker(monkeypatch, reranker := EvenReranker())
    first = write(workspace, "a.md", "apple first").doc_id
    write(workspace, "b.md", "apple second")
    sync(workspace)
    before_read(lambda: delete_documents(workspace, [first]), "read_documents")
    assert paths(ask(workspace, "apple", rerank=True)) == ["b.md"]
    (passage,) = reranker.read
    assert "second" in passage


def test_search_that_waits_for_nothing_answers_at_once_and_names_the_lag(workspace, seq, before_read):
    before_read(lambda: write(workspace, "a.md", "apple second"))
    found = ask(workspace, "apple")
    assert (paths(found), found.seq, found.lag, found.degraded) == ([], seq, 1, ())


def test_search_overtaken_by_writes_reports_its_lag_and_missing_leg(workspace, seq, before_read):
    texts = iter(f"apple {number}" for number in range(100))
    before_read(lambda: write(workspace, "a.md", next(texts)), times=100)
    found = ask(workspace, "apple", min_seq=seq)
    assert (paths(found), found.lag, found.degraded) == ([], 1, ("lexical",))


def test_mirror_that_can_not_catch_up_in_time_is_named(workspace, seq, before_read, monkeypatch):
    monkeypatch.setattr(engine, "_LIMIT_S", 0)
    before_read(lambda: write(workspace, "a.md", "apple second"))
    with local_mirrors.mirror_files(workspace.pk).write_lock():
        found = ask(workspace, "apple", min_seq=seq)
    assert (paths(found), found.lag, found.degraded) == ([], 1, ("lexical",))


def test_concurrently_deleted_document_is_left_out_silently(workspace, seq, before_read):
    doc_id = write(workspace, "b.md", "apple other").doc_id
    before_read(lambda: delete_documents(workspace, [doc_id]))
    found = ask(workspace, "apple", min_seq=seq + 1)
    assert (paths(found), found.seq, found.lag, found.degraded) == (["a.md"], seq + 2, 0, ())


def test_hit_missing_in_postgres_causes_one_repeated_search(workspace, seq, monkeypatch):
    reads = []

    def read_no_hits(scope, chunk_ids):
        reads.append("read_hits")
        return {}

    def see_nothing(scope, ids):
        reads.append("read_visible")
        return np.zeros(len(ids), bool)

    monkeypatch.setattr(hits, "read_hits", read_no_hits)
    monkeypatch.setattr(corpus, "read_visible", see_nothing)
    found = ask(workspace, "apple", min_seq=seq)
    assert (paths(found), reads, found.lag, found.degraded) == ([], ["read_hits", "read_visible"], 0, ())
