"""Documents rewritten during a search, between its mirror's state and the read-back."""

import pytest

from search.corpus import delete_documents
from search.engine import consistency, search
from search.engine.hits import HitBuilder
from search.mirror import local_mirrors
from search.retrieval.types import Mode
from tests.support.corpus import write
from tests.support.search import ask, embed, finish_syncs, paths, sync


@pytest.fixture
def workspace(shared_workspace):
    yield shared_workspace
    finish_syncs()  # what searches triggered is done


@pytest.fixture
def before_read_back(monkeypatch):
    """Return a function that registers an action before each read-back, so often."""

    def arrange(act, *, times=1):
        read, left = search.read_back, [times]

        def act_and_read(*arguments):
            if left[0] > 0:
                left[0] -= 1
                act()
            return read(*arguments)

        monkeypatch.setattr(search, "read_back", act_and_read)

    return arrange


@pytest.fixture
def seq(workspace):
    written = write(workspace, "a.md", "apple first")
    sync(workspace)
    return written.seq


@pytest.mark.parametrize("mode", [Mode.LEXICAL, Mode.HYBRID])
def test_search_that_waited_for_a_change_finds_concurrent_writes(workspace, seq, before_read_back, mode):
    embed(workspace)
    before_read_back(lambda: write(workspace, "a.md", "apple second"))
    found = ask(workspace, "apple", mode, min_seq=seq)
    assert (paths(found), found.hits[0].snippet) == (["a.md"], "apple second")
    assert (found.seq, found.lag, found.degraded) == (seq + 1, 0, ())


def test_document_written_before_its_hit_is_made_is_found(workspace, seq, monkeypatch):
    texts, read_hits = ["apple second"], HitBuilder.__init__.__kwdefaults__["read"]

    def write_and_read(*arguments):
        if texts:
            write(workspace, "a.md", texts.pop())
        return read_hits(*arguments)

    monkeypatch.setitem(HitBuilder.__init__.__kwdefaults__, "read", write_and_read)
    found = ask(workspace, "apple", min_seq=seq)
    assert (paths(found), found.hits[0].snippet) == (["a.md"], "apple second")
    assert (found.seq, found.lag, found.degraded) == (seq + 1, 0, ())


def test_search_that_waits_for_nothing_answers_at_once_and_names_the_lag(workspace, seq, before_read_back):
    before_read_back(lambda: write(workspace, "a.md", "apple second"))
    found = ask(workspace, "apple")
    assert (paths(found), found.seq, found.lag, found.degraded) == ([], seq, 1, ())


def test_search_that_is_overtaken_again_and_again_says_what_it_lacks(workspace, seq, before_read_back):
    texts = iter(f"apple {number}" for number in range(100))
    before_read_back(lambda: write(workspace, "a.md", next(texts)), times=100)
    found = ask(workspace, "apple", min_seq=seq)
    assert (paths(found), found.lag, found.degraded) == ([], 1, ("lexical",))


def test_mirror_that_can_not_catch_up_in_time_is_named(workspace, seq, before_read_back, monkeypatch):
    monkeypatch.setattr(consistency, "_LIMIT_S", 0)
    before_read_back(lambda: write(workspace, "a.md", "apple second"))
    with local_mirrors.mirror_files(workspace.pk).write_lock():
        found = ask(workspace, "apple", min_seq=seq)
    assert (paths(found), found.lag, found.degraded) == ([], 1, ("lexical",))


def test_concurrently_deleted_document_is_left_out_silently(workspace, seq, before_read_back):
    doc_id = write(workspace, "b.md", "apple other").doc_id
    before_read_back(lambda: delete_documents(workspace, [doc_id]))
    found = ask(workspace, "apple", min_seq=seq + 1)
    assert (paths(found), found.seq, found.lag, found.degraded) == (["a.md"], seq + 2, 0, ())


def test_candidate_that_the_mirror_alone_has_makes_no_second_search(workspace, seq, monkeypatch):
    calls, real = [], search.read_back

    def losing(scope, chunk_ids, *more):
        calls.append(chunk_ids)
        return real(scope, [], *more)

    monkeypatch.setattr(search, "read_back", losing)
    found = ask(workspace, "apple", min_seq=seq)
    assert (paths(found), len(calls), found.lag, found.degraded) == ([], 1, 0, ())
