"""Read your writes, reported lag, and repair of mirrors that a search finds damaged."""

import threading
from types import SimpleNamespace

import pytest
from django.core.files.storage import default_storage
from django.db import OperationalError

from kebab.identity.models import Workspace
from kebab.people.operator import command_line_access
from kebab.people.workspaces import delete_workspace
from kebab.runtime import role
from search.corpus.blobs import blob_name, store_blob
from search.mirror import local_mirrors, schema
from search.mirror.sync import sync as mirror_sync
from search.mirror.sync.sync import sync_mirror
from search.models import Change, Document
from search.retrieval.errors import NotSearchableYet
from search.retrieval.types import Mode
from tests.integration.search.mirror.inspection import tampering
from tests.support.corpus import write
from tests.support.search import ask, embed, finish_syncs, paths, sync


@pytest.fixture
def workspace(shared_workspace):
    yield shared_workspace
    finish_syncs()


@pytest.fixture
def clock(monkeypatch):
    """Return the node's clock, which sleeping advances."""
    clock = SimpleNamespace(now=1_000.0, slept=[])

    def sleep(seconds):
        clock.slept.append(seconds)
        clock.now += seconds

    monkeypatch.setattr(local_mirrors, "time", SimpleNamespace(monotonic=lambda: clock.now, sleep=sleep))
    return clock


@pytest.fixture
def web_role(monkeypatch):
    monkeypatch.setattr(role, "_role", "web")


@pytest.fixture
def hold_up_sync(monkeypatch):
    """Return a function that delays a step of mirror syncs until the returned event is set."""
    may_go_on = threading.Event()

    def hold_up(name):
        real = getattr(mirror_sync, name)

        def slow(*given, **named):
            assert may_go_on.wait(30)
            return real(*given, **named)

        monkeypatch.setattr(mirror_sync, name, slow)
        return may_go_on

    yield hold_up
    may_go_on.set()


def test_search_with_min_seq_finds_the_write(workspace):
    sync(workspace)
    for n in range(3):
        seq = write(workspace, f"{n}.md", f"apple number{n}").seq
        result = ask(workspace, f"number{n}", min_seq=seq)
        assert (paths(result)[0], result.seq) == (f"{n}.md", seq)


def test_write_that_another_process_is_mirroring_is_waited_for(workspace, monkeypatch):
    seq = write(workspace, "a.md", "apple").seq
    slept, lock = [], local_mirrors.mirror_files(workspace.pk).write_lock()
    lock.__enter__()

    def let_go(seconds):
        slept.append(seconds)
        if len(slept) == 3:
            lock.__exit__(None, None, None)

    monkeypatch.setattr(local_mirrors, "time", SimpleNamespace(monotonic=lambda: 0.0, sleep=let_go))
    assert paths(ask(workspace, "apple", min_seq=seq)) == ["a.md"]
    assert len(slept) == 3


@pytest.fixture
def ahead(workspace):
    """Return a workspace at change 1, restored below its mirror at change 10."""
    write(workspace, "a.md", "apple")
    sync(workspace)
    with tampering(local_mirrors.mirror_files(workspace.pk)) as connection:
        for key, value in (("applied_seq", 10), ("applied_token", 7)):
            connection.execute(schema.WRITE_META, (key, value))
    write(workspace, "b.md", "apple")
    return workspace


@pytest.mark.parametrize("min_seq", [None, 2])
def test_mirror_ahead_of_the_log_is_rebuilt_for_a_search(ahead, min_seq):
    result = ask(ahead, "apple", min_seq=min_seq)
    assert (sorted(paths(result)), result.seq) == (["a.md", "b.md"], 2)
    assert (result.lag, result.degraded) == (0, ())


def test_search_on_a_mirror_ahead_of_the_log_reports_a_degraded_lexical_leg(ahead, monkeypatch):
    monkeypatch.setattr("search.engine.search._LIMIT_S", 0)
    with local_mirrors.mirror_files(ahead.pk).write_lock():
        result = ask(ahead, "apple")
    assert result.degraded == ("lexical",)
    finish_syncs()  # of which one may have found the lock still held
    ask(ahead, "apple")
    finish_syncs()
    assert ask(ahead, "apple").degraded == ()


@pytest.fixture
def on_another_history(workspace):
    """Return a workspace whose log a failover has replaced behind change 1; its mirror is at change 2."""
    write(workspace, "a.md", "apple")
    write(workspace, "lost.md", "apple")
    sync(workspace)
    Document.objects.in_workspace(workspace).filter(path="lost.md").delete()
    Change.objects.in_workspace(workspace).filter(seq=2).delete()
    Workspace.objects.filter(pk=workspace.pk).update(head_seq=1)
    return workspace


@pytest.mark.parametrize("written", [["b.md"], ["b.md", "c.md"]])
@pytest.mark.parametrize("mode", [Mode.LEXICAL, Mode.HYBRID])
def test_mirror_of_another_history_never_passes_for_current(on_another_history, written, mode, monkeypatch):
    for path in written:
        write(on_another_history, path, "apple")
    monkeypatch.setattr("search.engine.search._LIMIT_S", 0)
    with local_mirrors.mirror_files(on_another_history.pk).write_lock():
        assert "lexical" in ask(on_another_history, "apple", mode=mode).degraded
    finish_syncs()
    ask(on_another_history, "apple", mode=mode)
    finish_syncs()
    result = ask(on_another_history, "apple", mode=mode)
    assert sorted(paths(result)) == ["a.md", *written]
    assert (result.lag, "lexical" in result.degraded) == (0, False)


def test_change_that_is_not_mirrored_in_time_is_named(workspace, settings):
    settings.KEBAB_WAIT_LIMIT_S = 0
    seq = write(workspace, "a.md", "apple").seq
    with (
        local_mirrors.mirror_files(workspace.pk).write_lock(),
        pytest.raises(NotSearchableYet, match=str(seq)),
    ):
        ask(workspace, "apple", min_seq=seq)


def test_waiting_for_an_unwritten_change_polls_with_pauses(workspace, clock):
    sync(workspace)
    with pytest.raises(NotSearchableYet):
        local_mirrors.wait_for_seq(workspace.pk, 99, limit_s=1)
    assert set(clock.slept) == {local_mirrors._POLL_S}


def test_mirror_that_is_built_or_far_behind_is_waited_for_no_longer_than_the_limit(
    workspace, hold_up_sync, monkeypatch, web_role, subtests
):
    monkeypatch.setattr(mirror_sync, "_BRIEF_BACKLOG", 1)
    for step in ("_rebuild", "_apply_tail"):
        with subtests.test(step=step):
            for n in range(2):
                seq = write(workspace, f"{n}.md", f"apple {step}").seq
            may_go_on = hold_up_sync(step)
            with pytest.raises(NotSearchableYet):
                local_mirrors.wait_for_seq(workspace.pk, seq, limit_s=0.1)
            may_go_on.set()
            local_mirrors.wait_for_seq(workspace.pk, seq, limit_s=30)
            assert len(paths(ask(workspace, step, min_seq=seq))) == 2
            may_go_on.clear()


def test_command_builds_a_missing_mirror_without_a_time_limit(workspace, monkeypatch, clock):
    seq, build = write(workspace, "a.md", "apple").seq, mirror_sync._rebuild

    def slow(*given, **named):
        clock.now += 3_600
        return build(*given, **named)

    monkeypatch.setattr(mirror_sync, "_rebuild", slow)
    monkeypatch.setattr(role, "_role", role.COMMAND)
    local_mirrors.wait_for_seq(workspace.pk, seq, limit_s=0.05)
    assert paths(ask(workspace, "apple")) == ["a.md"]


def test_wait_for_a_mirror_raises_the_error_of_postgres(workspace, monkeypatch, web_role):
    def lose_connection(*given, **named):
        raise OperationalError("the server closed the connection")

    monkeypatch.setattr(mirror_sync, "_rebuild", lose_connection)
    seq = write(workspace, "a.md", "apple").seq
    with pytest.raises(OperationalError):
        local_mirrors.wait_for_seq(workspace.pk, seq, limit_s=30)


def test_unexpected_failure_of_a_sync_is_logged_and_the_search_answers(workspace, monkeypatch, caplog):
    def run_out_of_memory(*_, **__):
        raise MemoryError

    write(workspace, "a.md", "apple")
    monkeypatch.setattr(local_mirrors, "sync_mirror", run_out_of_memory)
    assert ask(workspace, "apple").degraded == ("lexical",)
    assert str(workspace.pk) in caplog.text


def test_failed_build_is_not_begun_again_at_once(workspace, monkeypatch, web_role, clock):
    syncs = []

    def full(*given, **named):
        syncs.append(given)
        raise OSError("No space left on device")

    seq = write(workspace, "a.md", "apple").seq
    monkeypatch.setattr(mirror_sync, "_rebuild", full)
    with pytest.raises(NotSearchableYet):
        local_mirrors.wait_for_seq(workspace.pk, seq, limit_s=5)
    assert 1 <= len(syncs) <= 6


def test_lagging_mirror_answers_reports_its_lag_and_catches_up(workspace):
    write(workspace, "a.md", "apple")
    assert paths(ask(workspace, "apple")) == ["a.md"]  # the first search has it built
    write(workspace, "b.md", "apple")
    behind = ask(workspace, "apple")
    assert (paths(behind), behind.seq, behind.lag) == (["a.md"], 1, 1)
    finish_syncs()
    caught_up = ask(workspace, "apple")
    assert (sorted(paths(caught_up)), caught_up.seq, caught_up.lag) == (["a.md", "b.md"], 2, 0)


def test_search_answers_without_a_first_mirror_that_takes_long(workspace, monkeypatch):
    write(workspace, "a.md", "apple")
    embed(workspace)
    by_vectors = ask(workspace, "apple", Mode.VECTOR)  # needs no mirror
    assert (paths(by_vectors), by_vectors.lag) == (["a.md"], 0)
    assert not local_mirrors.mirror_files(workspace.pk).directory.exists()
    monkeypatch.setattr("search.mirror.local_mirrors._FIRST_MIRROR_S", 0)
    with local_mirrors.mirror_files(workspace.pk).write_lock():
        lexical, hybrid = ask(workspace, "apple"), ask(workspace, "apple", Mode.HYBRID)
    assert (lexical.degraded, lexical.hits, lexical.lag) == (("lexical",), (), 1)
    assert (hybrid.degraded, paths(hybrid)) == (("lexical",), ["a.md"])


@pytest.fixture
def mirrored_workspace(workspace):
    write(workspace, "a.md", *(f"apple {n}" for n in range(50)))
    embed(workspace)
    sync(workspace)
    local_mirrors.reader_pool().close()
    return workspace


@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.VECTOR])
@pytest.mark.parametrize("offset", [0, 4096])
def test_damaged_mirror_degrades_a_search_and_is_rebuilt_behind_it(mirrored_workspace, offset, mode):
    generation = local_mirrors.mirror_files(mirrored_workspace.pk).current()
    with generation.open("r+b") as file:
        size = file.seek(0, 2)
        file.seek(offset)
        file.write(b"\xa5" * (size - offset))
    assert ask(mirrored_workspace, "apple", mode).hits
    finish_syncs()
    healed = ask(mirrored_workspace, "apple", Mode.HYBRID)
    assert (healed.degraded, healed.lag) == ((), 0)
    assert healed.hits[0].retrieval.lexical_rank is not None
    assert local_mirrors.mirror_files(mirrored_workspace.pk).current() != generation


def test_damage_in_the_text_index_alone_is_found_by_the_search_that_meets_it(mirrored_workspace):
    files = local_mirrors.mirror_files(mirrored_workspace.pk)
    with tampering(files) as connection:
        connection.execute("UPDATE chunks_fts_data SET block = x'ffffffffffff' WHERE id > 10")
    generation = files.current()
    # The postings still rank and texts are Postgres's; a phrase is FTS5's to find.
    assert len(ask(mirrored_workspace, "apple").hits) == 10
    assert files.current() == generation
    assert ask(mirrored_workspace, "apple/7").degraded == ("lexical",)
    finish_syncs()
    assert len(ask(mirrored_workspace, "apple").hits) == 10
    assert files.current() != generation


def test_search_of_a_deleted_workspace_is_refused_as_such(workspace):
    sync_mirror(local_mirrors.mirror_files(workspace.pk), workspace.pk)
    type(workspace).objects.all().delete()
    with pytest.raises(type(workspace).DoesNotExist):
        ask(workspace, "apple")


def test_deleting_a_workspace_removes_mirror_and_blobs(mirrored_workspace):
    name = blob_name(mirrored_workspace.pk, store_blob(mirrored_workspace.pk, b"apple"))
    assert default_storage.exists(name)
    delete_workspace(command_line_access(mirrored_workspace))
    assert not local_mirrors.mirror_files(mirrored_workspace.pk).directory.exists()
    assert not default_storage.exists(name)


def test_only_one_search_at_a_time_gets_leg_threads():
    with local_mirrors.leg_threads() as first, local_mirrors.leg_threads() as second:
        assert first is not None
        assert second is None
    with local_mirrors.leg_threads() as third:
        assert third is first
    with pytest.raises(ZeroDivisionError), local_mirrors.leg_threads():  # one that fails is no longer counted
        raise ZeroDivisionError
    with local_mirrors.leg_threads() as fourth:
        assert fourth is first


def test_leg_threads_are_exclusive_across_threads():
    inside, done = threading.Event(), threading.Event()

    def search():
        with local_mirrors.leg_threads():
            inside.set()
            done.wait(30)

    other = threading.Thread(target=search)
    other.start()
    assert inside.wait(30)
    with local_mirrors.leg_threads() as threads:
        assert threads is None
    done.set()
    other.join()
