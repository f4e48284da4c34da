"""Reading one's writes, lag that is reported, mirrors that heal when a search finds them wanting."""

import threading
import time
from types import SimpleNamespace

import pytest
from django.core.files.storage import default_storage
from django.db import OperationalError

from kebab import role
from kebab.people.deletion import delete_workspace
from kebab.people.operator import the_operator
from search import node
from search.blobs import blob_name, keep_blob
from search.mirror import schema
from search.mirror import sync as mirror_sync
from search.mirror.sync import sync_mirror
from search.retrieval.errors import NotSearchableYet
from search.retrieval.types import Mode
from tests.integration.search.mirror.looking import tampering
from tests.support.corpus import write
from tests.support.searching import ask, embed, finish_syncs, paths, sync


@pytest.fixture
def workspace(shared_workspace):
    yield shared_workspace
    finish_syncs()


def test_a_search_that_names_its_write_sees_it(workspace):
    sync(workspace)
    for n in range(3):
        seq = write(workspace, f"{n}.md", f"apple number{n}").seq
        result = ask(workspace, f"number{n}", min_seq=seq)
        assert (paths(result)[0], result.seq) == (f"{n}.md", seq)


def test_a_write_that_another_process_is_mirroring_is_waited_for(workspace, monkeypatch):
    seq = write(workspace, "a.md", "apple").seq
    files, slept = node.mirror_files(workspace.pk), []
    lock = files.writing()
    lock.__enter__()

    def let_go(seconds):
        slept.append(seconds)
        if len(slept) == 3:
            lock.__exit__(None, None, None)

    monkeypatch.setattr(node, "time", SimpleNamespace(monotonic=time.monotonic, sleep=let_go))
    assert paths(ask(workspace, "apple", min_seq=seq)) == ["a.md"]
    assert len(slept) == 3


@pytest.fixture
def ahead(workspace):
    """A workspace that was restored to change 1 under a mirror that had come to change 10."""
    write(workspace, "a.md", "apple")
    sync(workspace)
    with tampering(node.mirror_files(workspace.pk)) as connection:
        for key, value in (("applied_seq", 10), ("applied_token", 7)):
            connection.execute(schema.WRITE_META, (key, value))
    return workspace


def test_a_mirror_of_a_log_that_is_no_more_shows_none_of_the_changes_that_are_waited_for(ahead):
    seq = write(ahead, "b.md", "apple").seq
    assert seq == 2
    result = ask(ahead, "apple", min_seq=seq)
    assert (sorted(paths(result)), result.seq, result.lag) == (["a.md", "b.md"], 2, 0)


def test_a_mirror_that_is_ahead_of_the_log_is_made_anew_for_a_search_that_waits_for_nothing(ahead):
    write(ahead, "b.md", "apple")
    result = ask(ahead, "apple")
    assert (sorted(paths(result)), result.seq, result.degraded) == (["a.md", "b.md"], 2, ())


def test_a_search_that_a_mirror_ahead_of_the_log_answers_says_that_words_are_missing(ahead, monkeypatch):
    monkeypatch.setattr("search.overtaking._LIMIT_S", 0)
    write(ahead, "b.md", "apple")
    with node.mirror_files(ahead.pk).writing():
        result = ask(ahead, "apple")
    assert result.degraded == ("lexical",)
    finish_syncs()  # of which one may have found the lock still held
    ask(ahead, "apple")
    finish_syncs()
    assert ask(ahead, "apple").degraded == ()


def test_a_number_that_does_not_come_in_time_is_a_clear_answer(workspace, settings):
    settings.KEBAB_WAIT_LIMIT_S = 0
    seq = write(workspace, "a.md", "apple").seq
    with node.mirror_files(workspace.pk).writing(), pytest.raises(NotSearchableYet, match=f"Change {seq} "):
        ask(workspace, "apple", min_seq=seq)


def test_waiting_for_a_number_that_nobody_wrote_lets_others_work(workspace, monkeypatch):
    sync(workspace)
    now, slept = iter(range(100)), []
    monkeypatch.setattr(node, "time", SimpleNamespace(monotonic=lambda: next(now), sleep=slept.append))
    with pytest.raises(NotSearchableYet):
        node.wait_for_seq(workspace.pk, 99, limit_s=10)
    assert len(slept) >= 8


def test_a_number_is_waited_for_no_longer_where_the_mirror_is_to_be_made(workspace, monkeypatch):
    seq = write(workspace, "a.md", "apple").seq
    may_go_on, build = threading.Event(), mirror_sync._build

    def slow(*given, **named):
        assert may_go_on.wait(30)
        return build(*given, **named)

    monkeypatch.setattr(mirror_sync, "_build", slow)
    monkeypatch.setattr(role, "_role", "web")
    began = time.monotonic()
    with pytest.raises(NotSearchableYet):
        node.wait_for_seq(workspace.pk, seq, limit_s=0.3)
    assert time.monotonic() - began < 5
    may_go_on.set()
    node.wait_for_seq(workspace.pk, seq, limit_s=30)
    assert paths(ask(workspace, "apple", min_seq=seq)) == ["a.md"]


def test_one_that_is_far_behind_is_waited_for_no_longer_either(workspace, monkeypatch):
    sync(workspace)
    for n in range(2):
        seq = write(workspace, f"{n}.md", "apple").seq
    may_go_on, apply = threading.Event(), mirror_sync._apply_tail

    def slow(*given):
        assert may_go_on.wait(30)
        apply(*given)

    monkeypatch.setattr(mirror_sync, "_BRIEF_BACKLOG", 1)
    monkeypatch.setattr(mirror_sync, "_apply_tail", slow)
    monkeypatch.setattr(role, "_role", "web")
    with pytest.raises(NotSearchableYet):
        node.wait_for_seq(workspace.pk, seq, limit_s=0.3)
    may_go_on.set()
    node.wait_for_seq(workspace.pk, seq, limit_s=30)


def test_a_verb_makes_a_mirror_itself_however_long_that_takes(workspace, monkeypatch):
    seq, build = write(workspace, "a.md", "apple").seq, mirror_sync._build

    def slow(*given, **named):
        time.sleep(0.2)
        return build(*given, **named)

    monkeypatch.setattr(mirror_sync, "_build", slow)
    monkeypatch.setattr(role, "_role", role.VERB)
    node.wait_for_seq(workspace.pk, seq, limit_s=0.05)
    assert paths(ask(workspace, "apple")) == ["a.md"]


def test_who_waits_for_a_mirror_that_is_made_hears_that_postgres_is_away(workspace, monkeypatch):
    def lost(*given, **named):
        raise OperationalError("the server closed the connection")

    monkeypatch.setattr(mirror_sync, "_build", lost)
    monkeypatch.setattr(role, "_role", "web")
    seq = write(workspace, "a.md", "apple").seq
    with pytest.raises(OperationalError):
        node.wait_for_seq(workspace.pk, seq, limit_s=30)


def test_what_can_not_be_made_is_not_begun_again_at_once(workspace, monkeypatch):
    begun, slept = [], []

    def full(*given, **named):
        begun.append(given)
        raise OSError("No space left on device")

    def pass_by(seconds):
        slept.append(seconds)
        clock["now"] += seconds

    clock = {"now": time.monotonic()}
    seq = write(workspace, "a.md", "apple").seq
    monkeypatch.setattr(mirror_sync, "_build", full)
    monkeypatch.setattr(role, "_role", "web")
    monkeypatch.setattr(node, "time", SimpleNamespace(monotonic=lambda: clock["now"], sleep=pass_by))
    with pytest.raises(NotSearchableYet):
        node.wait_for_seq(workspace.pk, seq, limit_s=5)
    assert len(begun) <= 6


def test_a_mirror_that_is_behind_answers_says_so_and_catches_up(workspace):
    write(workspace, "a.md", "apple")
    sync(workspace)
    write(workspace, "b.md", "apple")
    behind = ask(workspace, "apple")
    assert (paths(behind), behind.seq, behind.lag) == (["a.md"], 1, 1)
    finish_syncs()
    caught_up = ask(workspace, "apple")
    assert (sorted(paths(caught_up)), caught_up.seq, caught_up.lag) == (["a.md", "b.md"], 2, 0)


def test_a_node_builds_a_mirror_when_it_is_first_asked(workspace):
    write(workspace, "a.md", "apple")
    assert paths(ask(workspace, "apple")) == ["a.md"]


def test_a_node_whose_first_mirror_takes_long_answers_without_it(workspace, monkeypatch):
    write(workspace, "a.md", "apple")
    embed(workspace)
    monkeypatch.setattr("search.node._FIRST_MIRROR_S", 0)
    with node.mirror_files(workspace.pk).writing():
        lexical, hybrid = ask(workspace, "apple"), ask(workspace, "apple", Mode.HYBRID)
    assert (lexical.degraded, lexical.hits, lexical.lag) == (("lexical",), (), 1)
    assert (hybrid.degraded, paths(hybrid)) == (("lexical",), ["a.md"])


@pytest.mark.parametrize("offset", [0, 4096])
def test_a_damaged_mirror_degrades_a_search_and_is_rebuilt_behind_it(workspace, offset):
    write(workspace, "a.md", *(f"apple {n}" for n in range(50)))
    sync(workspace)
    embed(workspace)
    generation = node.mirror_files(workspace.pk).current()
    node.reader_pool().close()
    with generation.open("r+b") as file:
        size = file.seek(0, 2)
        file.seek(offset)
        file.write(b"\xa5" * (size - offset))
    result = ask(workspace, "apple", Mode.HYBRID)
    assert paths(result)
    finish_syncs()
    healed = ask(workspace, "apple", Mode.HYBRID)
    assert (healed.degraded, healed.lag) == ((), 0)
    assert healed.hits[0].retrieval.lexical_rank is not None
    assert node.mirror_files(workspace.pk).current() != generation


def test_damage_in_the_text_index_alone_is_found_by_the_search_that_meets_it(workspace):
    write(workspace, "a.md", *(f"apple {n}" for n in range(50)))
    sync(workspace)
    node.reader_pool().close()
    files = node.mirror_files(workspace.pk)
    with tampering(files) as connection:
        connection.execute("UPDATE chunks_fts_data SET block = x'ffffffffffff' WHERE id > 10")
    generation = files.current()
    # The postings still rank and texts are Postgres's; a phrase is FTS5's to find.
    assert len(ask(workspace, "apple").hits) == 10
    assert files.current() == generation
    assert ask(workspace, "apple/7").degraded == ("lexical",)
    finish_syncs()
    assert len(ask(workspace, "apple").hits) == 10
    assert files.current() != generation


def test_vector_search_needs_no_mirror(workspace):
    write(workspace, "a.md", "apple")
    embed(workspace)
    result = ask(workspace, "apple", Mode.VECTOR)
    assert (paths(result), result.lag) == (["a.md"], 0)
    assert not node.mirror_files(workspace.pk).directory.exists()


def test_a_search_of_a_workspace_that_is_gone_is_told_so(workspace):
    sync_mirror(node.mirror_files(workspace.pk), workspace.pk)
    type(workspace).objects.all().delete()
    with pytest.raises(type(workspace).DoesNotExist):
        ask(workspace, "apple")


def test_deleting_a_workspace_removes_mirror_and_blobs(workspace):
    write(workspace, "a.md", "apple")
    embed(workspace)
    sync(workspace)
    name = blob_name(workspace.pk, keep_blob(workspace.pk, b"apple"))
    assert default_storage.exists(name)
    delete_workspace(the_operator(workspace))
    assert not node.mirror_files(workspace.pk).directory.exists()
    assert not default_storage.exists(name)
