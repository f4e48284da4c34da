"""Several limited processes: ordered, bounded, and ended when no longer needed."""

import threading
from itertools import chain

import pytest

from ingest.digest import pool as digester_pool
from ingest.digest.pool import LOOK_AHEAD, DigesterPool
from ingest.digest.types import Submission
from ingest.parsers.errors import ParseRefused
from kebab.sandbox.program import SandboxUnavailable
from tests.support.processes import is_running, wait_until

MARKDOWN = b"# Title\n\nSome text.\n"
#: takes a parser several seconds
LONG = Submission(key=2, content=b"words " * 3_000_000, path="b.md")
SHORT = Submission(key=1, content=MARKDOWN, path="a.md")


def keys_of(groups):
    return [key for group in groups for key, _ in group]


def child_pids(pool):
    return [digester.child_pid for digester in pool._digesters if digester.child_pid]


def note_digests(monkeypatch, started):
    """Put the key of each document into `begun` when its parser is called."""
    digest = digester_pool._digest

    def digest_noted(digester, document):
        started.append(document.key)
        return digest(digester, document)

    monkeypatch.setattr(digester_pool, "_digest", digest_noted)


def test_pool_keeps_the_order_and_returns_errors_in_place():
    bodies = [b"# T\n\n" + b"words " * (1 + 4_000 * (n % 3)) for n in range(20)]
    bodies[7] = b"%PDF-1.4"
    with DigesterPool(2) as pool:
        groups = pool.digest_groups(
            Submission(key=n, content=body, path="7.pdf" if n == 7 else f"{n}.md")
            for n, body in enumerate(bodies)
        )
        results = list(chain.from_iterable(groups))
        pids = child_pids(pool)
        assert len(set(pids)) == 2
    assert not any(is_running(pid) for pid in pids)
    assert [key for key, _ in results] == list(range(20))
    assert isinstance(results[7][1], ParseRefused)
    assert all(result.title == "T" for key, result in results if key != 7)


def test_pool_reads_no_further_ahead_than_it_may():
    read = 0

    def documents():
        nonlocal read
        for number in range(100):
            read += 1
            yield Submission(key=number, content=b"x", path="a.md")

    with DigesterPool(2) as pool:
        results = pool.digest_groups(documents())
        group = next(results)
        assert read <= 2 * LOOK_AHEAD + len(group)
        results.close()


def test_finished_documents_are_returned_in_groups():
    with DigesterPool(1) as pool:
        documents = [Submission(key=n, content=b"word", path="a.txt") for n in range(10)]
        groups = list(pool.digest_groups(documents))
    assert keys_of(groups) == list(range(10))
    assert len(groups) < 10


def test_long_document_that_nobody_wants_is_ended_at_once():
    def interrupt():
        raise InterruptedError

    with DigesterPool(1) as pool:
        with pytest.raises(InterruptedError):
            list(pool.digest_groups([LONG], interrupt))
        pids = child_pids(pool)
        wait_until(lambda: not any(map(is_running, pids)))
        (((key, digest),),) = pool.digest_groups([SHORT])
        assert (key, digest.title) == (1, "Title")
        assert len(pool._digesters) == 1


def test_closing_the_pool_stops_a_long_document_at_once():
    pool = DigesterPool(1)
    results = pool.digest_groups([LONG])
    failed = []

    def consume():
        try:
            next(results)
        except SandboxUnavailable as error:
            failed.append(error)

    reader = threading.Thread(target=consume)
    reader.start()
    wait_until(lambda: child_pids(pool))
    pool.close()
    reader.join(10)
    assert not reader.is_alive()
    assert failed


def test_digest_stops_when_its_consumer_stops(monkeypatch):
    started = []
    note_digests(monkeypatch, started)
    with DigesterPool(2) as pool:
        results = pool.digest_groups([SHORT, LONG])
        assert [key for key, _ in next(results)] == [1]
        wait_until(lambda: 2 in started)
        results.close()
        pids = child_pids(pool)
        wait_until(lambda: not any(map(is_running, pids)))
        (((key, digest),),) = pool.digest_groups([SHORT])
        assert (key, digest.title) == (1, "Title")


def test_document_waiting_for_buffer_space_is_skipped_when_the_consumer_stops(monkeypatch):
    started, may_end = [], threading.Event()

    def digest_long(digester, document):
        started.append(document.key)
        may_end.wait(30)
        return ParseRefused("no_parser", "it took long")

    def interrupt():
        raise InterruptedError

    monkeypatch.setattr(digester_pool, "DIGEST_BYTES", -1)
    monkeypatch.setattr(digester_pool, "_digest", digest_long)
    documents = [Submission(key=n, content=MARKDOWN, path="a.md") for n in range(2)]
    with DigesterPool(2) as pool:
        with pytest.raises(InterruptedError):
            list(pool.digest_groups(documents, interrupt))
        may_end.set()
        both_are_free = threading.Barrier(2, timeout=30)
        for thread in [pool._threads.submit(both_are_free.wait) for _ in range(2)]:
            thread.result()
    assert started == [0]


def test_next_document_is_digested_when_the_result_buffer_is_full(monkeypatch):
    asked = []

    def ask():
        asked.append(1)
        assert len(asked) < 30, "nothing is digested any more"

    monkeypatch.setattr(digester_pool, "DIGEST_BYTES", -1)
    documents = [Submission(key=n, content=MARKDOWN, path="a.md") for n in range(9)]
    with DigesterPool(3) as pool:
        groups = list(pool.digest_groups(documents, ask))
    assert keys_of(groups) == list(range(9))


def test_finished_digests_are_bounded_by_bytes(monkeypatch):
    started, held_up = [], set()
    has_room = digester_pool._DigestBuffer.has_room

    def has_room_noted(shelf, place, within_s):
        answer = has_room(shelf, place, within_s)
        (held_up.discard if answer else held_up.add)(threading.get_ident())
        return answer

    monkeypatch.setattr(digester_pool, "DIGEST_BYTES", 100_000)
    monkeypatch.setattr(digester_pool, "GROUP_BYTES", 1)
    monkeypatch.setattr(digester_pool, "WATCH_S", 0.02)
    monkeypatch.setattr(digester_pool._DigestBuffer, "has_room", has_room_noted)
    note_digests(monkeypatch, started)
    documents = [Submission(key=n, content=b"word " * 20_000, path="a.txt") for n in range(8)]
    with DigesterPool(2) as pool:
        results = pool.digest_groups(documents)
        taken = [key for key, _ in next(results)]
        wait_until(lambda: len(held_up) == 2)
        assert len(started) <= 3  # the one that was taken, and one by each thread
        taken += keys_of(results)
    assert taken == list(range(8))


def test_abort_reaches_every_digester_during_concurrent_releases():
    class Leaving:
        is_aborted = False

        def abort(self):
            self.is_aborted = True
            pool._digesters.remove(self)

    pool = DigesterPool(2)
    leaving = [Leaving(), Leaving()]
    pool._digesters.extend(leaving)
    pool.close()
    assert all(digester.is_aborted for digester in leaving)
