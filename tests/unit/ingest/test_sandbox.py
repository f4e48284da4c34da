import os
import signal
import subprocess
import sys
import threading
import time
from itertools import chain
from pathlib import Path

import psutil
import pytest

import ingest
from ingest.parsers.errors import ParseRefused, Quarantined, SandboxUnavailable
from ingest.parsers.file_types import MARKUP, STRUCTURED, TRANSCRIPTS, type_by_name
from ingest.parsers.registry import parser_version_for
from ingest.sandbox import pool as sandbox_pool
from ingest.sandbox import process as sandbox_process
from ingest.sandbox.digester import MAX_ATTEMPTS, Digester
from ingest.sandbox.frames import GOING_ON
from ingest.sandbox.pool import LOOK_AHEAD, DigesterPool
from ingest.sandbox.types import DigestLimits, Overrides, Submission

REPOSITORY = Path(ingest.__file__).parent.parent
MARKDOWN = b"---\ntags: [a, b]\n---\n# Title\n\nSome text.\n"


@pytest.fixture
def digester():
    with Digester() as one:
        yield one


def wait_until(is_true, seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline, "it did not happen in time"
        threading.Event().wait(0.01)


def is_running(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_document_comes_back_whole(digester):
    digest = digester.digest(MARKDOWN, "docs/a.md")
    assert (digest.title, digest.tags, digest.mime, digest.media) == (
        "Title",
        ("a", "b"),
        "text/markdown",
        "text",
    )
    assert (digest.parser, digest.parser_version) == ("markdown", parser_version_for("docs/a.md"))
    assert digest.metadata == {"tags": ["a", "b"]}
    (chunk,) = digest.chunks
    assert (chunk.ordinal, chunk.text, chunk.spans[0]) == (
        0,
        "Some text.",
        {"kind": "line", "start": 6, "end": 6},
    )


def test_child_is_used_again(digester):
    digester.digest(MARKDOWN, "a.md")
    pid = digester.child_pid
    digester.digest(MARKDOWN, "b.md")
    assert digester.child_pid == pid


def test_overrides_go_before_what_was_found(digester):
    overrides = Overrides(title="Given", lang="fr", tags=("x",), media="transcript")
    digest = digester.digest(MARKDOWN, "a.md", overrides)
    assert (digest.title, digest.lang, digest.tags, digest.media) == ("Given", "fr", ("x",), "transcript")
    assert digest.chunks[0].breadcrumb == "Given > Title"


def test_empty_overrides_are_not_missing_ones(digester):
    assert digester.digest(MARKDOWN, "a.md", Overrides(tags=())).tags == ()


def test_refusal_keeps_the_child(digester):
    digester.digest(MARKDOWN, "a.md")
    pid = digester.child_pid
    with pytest.raises(ParseRefused, match="no parser for audio/") as refusal:
        digester.digest(b"fLaC\x00\x00\x00\x22" + bytes(40), "a.flac")
    assert refusal.value.code == "no_parser"
    assert digester.child_pid == pid


def test_document_that_takes_too_long_is_quarantined_and_the_next_one_works():
    limits = DigestLimits(seconds=0.05, seconds_per_mb=0)
    with Digester(limits) as digester:
        with pytest.raises(Quarantined, match=r"attempt 1: it took over 0\.05 s; attempt 2"):
            digester.digest(b"words of a long text " * 1_000_000, "a.md")
        assert digester.digest(b"short\n", "b.md").chunks[0].text == "short"


def test_what_dies_before_a_parser_is_chosen_is_quarantined_too():
    with (
        Digester(DigestLimits(seconds=0, seconds_per_mb=0)) as digester,
        pytest.raises(Quarantined, match=r"attempt 4: it took over 0 s$"),
    ):
        digester.digest(MARKDOWN, "a.md")


def test_steps_that_a_parser_reports_put_its_deadline_off():
    limits = DigestLimits(seconds=10.0, seconds_per_mb=0, seconds_per_step=0.2, most_seconds=30.0)
    deadline = sandbox_process._Deadline(0.0, limits)
    assert deadline.left <= 0
    assert list(deadline.put_off(iter([GOING_ON, {"chunks": []}]))) == [{"chunks": []}]
    assert 0 < deadline.left <= 0.2


def test_steps_give_no_parser_more_than_all_the_time_there_is():
    limits = DigestLimits(seconds_per_step=1_000.0, most_seconds=7.0)
    deadline = sandbox_process._Deadline(5.0, limits)
    list(deadline.put_off(iter([GOING_ON])))
    assert deadline.seconds == 7.0


def test_document_that_needs_too_much_memory_is_quarantined_and_the_next_one_works():
    with Digester(DigestLimits(memory_bytes=96 * 1024**2)) as digester:
        with pytest.raises(Quarantined, match="memory"):
            digester.digest(b"word\n\n" * 4_000_000, "a.md")
        assert digester.digest(b"short\n", "b.md").chunks[0].text == "short"


def test_simpler_parser_takes_over_in_a_fresh_child():
    # enough for plain text, too little for the tokens of the Markdown parser
    with Digester(DigestLimits(memory_bytes=128 * 1024**2)) as digester:
        digest = digester.digest(b"- a\n" * 150_000, "a.md")
    assert digest.parser == "text"
    assert digest.parser_version == parser_version_for("a.md")


def test_child_killed_by_somebody_else_costs_the_document_nothing(digester):
    digester.digest(MARKDOWN, "a.md")
    victim = digester.child_pid
    kill = threading.Timer(0.2, os.kill, (victim, signal.SIGKILL))
    kill.start()
    digest = digester.digest((b"# T\n\n" + b"some words " * 90 + b"\n\n") * 10_000, "big.md")
    kill.join()
    assert digest.parser == "markdown"
    assert digester.child_pid != victim


def test_child_that_died_between_documents_is_replaced(digester):
    digester.digest(MARKDOWN, "a.md")
    victim = digester.child_pid
    os.kill(victim, signal.SIGSEGV)
    wait_until(lambda: not is_running(victim))
    assert digester.digest(MARKDOWN, "a.md").parser == "markdown"


def test_crash_is_told_by_its_signal(digester):
    digester.digest(MARKDOWN, "a.md")
    crashes = 0

    def crash_each_child():
        nonlocal crashes
        for _ in range(2):
            wait_until(lambda: digester.child_pid not in seen and digester.child_pid is not None)
            seen.add(digester.child_pid)
            threading.Event().wait(0.15)
            os.kill(digester.child_pid, signal.SIGSEGV)
            crashes += 1

    seen: set[int | None] = set()
    killer = threading.Thread(target=crash_each_child)
    killer.start()
    with pytest.raises(
        Quarantined, match=r"attempt 1: it crashed \(SIGSEGV\); attempt 2: it crashed \(SIGSEGV\)"
    ):
        digester.digest(b"some words to count, again and again " * 600_000, "a.md")
    killer.join()
    assert crashes == 2


def test_large_document_passes_without_deadlock(digester):
    content = b"A line of a large log that goes on and on, number after number.\n" * 300_000
    digest = digester.digest(content, "big.log")
    assert digest.chunks[-1].spans[0]["end"] == 300_000
    assert sum(chunk.text.count("\n") + 1 for chunk in digest.chunks) == 300_000


def test_child_ends_at_the_end_of_its_input(digester):
    digester.digest(MARKDOWN, "a.md")
    child = psutil.Process(digester.child_pid)
    digester._process._process.stdin.close()
    assert child.wait(10) is not None


ORPHAN_MAKER = """
import sys, time
from ingest.sandbox.digester import Digester
digester = Digester()
digester.digest(b"x", "a.md")
print(digester.child_pid, flush=True)
digester.digest(b"words and words " * 10_000_000, "big.md")
"""


def test_killed_parent_leaves_no_orphan():
    parent = subprocess.Popen(
        [sys.executable, "-c", ORPHAN_MAKER],
        stdout=subprocess.PIPE,
        cwd=REPOSITORY,
        env={"PYTHONPATH": str(REPOSITORY)},
    )
    child = int(parent.stdout.readline())
    assert is_running(child)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    wait_until(lambda: not is_running(child))


def test_child_sees_no_secret_and_cannot_write_files(digester, monkeypatch):
    monkeypatch.setenv("KEBAB_SECRET_KEY", "secret")
    digester.digest(MARKDOWN, "a.md")
    child = psutil.Process(digester.child_pid)
    assert "KEBAB_SECRET_KEY" not in child.environ()
    assert child.rlimit(psutil.RLIMIT_FSIZE) == (0, 0)
    assert child.rlimit(psutil.RLIMIT_AS)[0] < 2 * 1024**3


def test_child_imports_no_django():
    program = "import sys, ingest.sandbox.child; sys.exit('django' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, check=False).returncode == 0


def test_idle_child_is_small(digester):
    digester.digest(MARKDOWN, "a.md")
    assert psutil.Process(digester.child_pid).memory_info().rss < 120 * 1024**2


def test_child_that_does_not_start_is_not_the_documents_fault(monkeypatch):
    monkeypatch.setattr(
        sandbox_process, "_command", lambda limits: [sys.executable, "-c", "raise SystemExit('no model')"]
    )
    with Digester() as digester, pytest.raises(SandboxUnavailable, match="no model"):
        digester.digest(MARKDOWN, "a.md")


def test_pool_keeps_the_order_and_gives_errors_in_place():
    bodies = [(n, b"# T\n\n" + b"words " * (1 + 4_000 * (n % 3)), f"{n}.md") for n in range(30)]
    bodies[7] = (7, b"%PDF-1.4", "7.pdf")
    with DigesterPool(2) as pool:
        groups = pool.digest_groups(Submission(key=k, content=c, path=p) for k, c, p in bodies)
        results = list(chain.from_iterable(groups))
    assert [key for key, _ in results] == list(range(30))
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


def test_no_ladder_is_longer_than_what_is_attempted():
    ladders = [
        type_by_name(f"a.{extension}") for extension in (*MARKUP, *STRUCTURED, *TRANSCRIPTS, "md", "docx")
    ]
    assert max(len(file.parsers) for file in ladders) < MAX_ATTEMPTS


def test_pool_runs_children_side_by_side_and_ends_them():
    with DigesterPool(2) as pool:
        list(pool.digest_groups(Submission(key=n, content=b"word " * 50_000, path="a.txt") for n in range(8)))
        pids = {digester.child_pid for digester in pool._digesters}
        assert len(pids) == 2
    assert not any(is_running(pid) for pid in pids)


def test_a_long_document_that_nobody_wants_any_more_is_ended_at_once():
    def unwanted():
        raise InterruptedError

    with DigesterPool(1) as pool:
        long = Submission(key=1, content=b"words " * 8_000_000, path="a.md")
        with pytest.raises(InterruptedError):
            list(pool.digest_groups([long], unwanted))
        pids = [digester.child_pid for digester in pool._digesters if digester.child_pid]
        wait_until(lambda: not any(map(is_running, pids)))
        (((key, digest),),) = pool.digest_groups([Submission(key=2, content=MARKDOWN, path="b.md")])
        assert (key, digest.title) == (2, "Title")
        assert len(pool._digesters) == 1


def test_closing_the_pool_stops_a_long_document_at_once():
    pool = DigesterPool(1)
    results = pool.digest_groups([Submission(key=1, content=b"words " * 8_000_000, path="a.md")])
    failed = []

    def consume():
        try:
            next(results)
        except SandboxUnavailable as error:
            failed.append(error)

    reader = threading.Thread(target=consume)
    reader.start()
    wait_until(lambda: bool(pool._digesters) and pool._digesters[0].child_pid is not None)
    pool.close()
    reader.join(10)
    assert not reader.is_alive()
    assert failed


def note_digests(monkeypatch, begun):
    """Put the key of each document into `begun` when its parser is called."""
    digest = sandbox_pool._digest

    def digest_noted(digester, document):
        begun.append(document.key)
        return digest(digester, document)

    monkeypatch.setattr(sandbox_pool, "_digest", digest_noted)


def test_what_is_being_digested_ends_when_its_results_are_not_taken_any_more(monkeypatch):
    begun = []
    note_digests(monkeypatch, begun)
    short = Submission(key=1, content=MARKDOWN, path="a.md")
    with DigesterPool(2) as pool:
        results = pool.digest_groups([short, Submission(key=2, content=b"words " * 8_000_000, path="b.md")])
        assert [key for key, _ in next(results)] == [1]
        wait_until(lambda: 2 in begun)
        results.close()
        pids = [digester.child_pid for digester in pool._digesters if digester.child_pid]
        wait_until(lambda: not any(map(is_running, pids)))
        (((key, digest),),) = pool.digest_groups([short])
        assert (key, digest.title) == (1, "Title")


def test_what_waits_for_room_is_not_digested_when_nobody_wants_it_any_more(monkeypatch):
    begun, may_end = [], threading.Event()

    def digest_long(digester, document):
        begun.append(document.key)
        may_end.wait(30)
        return ParseRefused("no_parser", "it took long")

    def unwanted():
        raise InterruptedError

    monkeypatch.setattr(sandbox_pool, "DIGEST_BYTES", -1)
    monkeypatch.setattr(sandbox_pool, "_digest", digest_long)
    documents = [Submission(key=n, content=MARKDOWN, path="a.md") for n in range(2)]
    with DigesterPool(2) as pool:
        with pytest.raises(InterruptedError):
            list(pool.digest_groups(documents, unwanted))
        may_end.set()
        both_are_free = threading.Barrier(2, timeout=30)
        for thread in [pool._threads.submit(both_are_free.wait) for _ in range(2)]:
            thread.result()
    assert begun == [0]


def test_the_first_in_line_is_digested_however_full_the_shelf_is(monkeypatch):
    asked = []

    def ask():
        asked.append(1)
        assert len(asked) < 30, "nothing is digested any more"

    monkeypatch.setattr(sandbox_pool, "DIGEST_BYTES", -1)
    documents = [Submission(key=n, content=MARKDOWN, path="a.md") for n in range(9)]
    with DigesterPool(3) as pool:
        groups = list(pool.digest_groups(documents, ask))
    assert [key for group in groups for key, _ in group] == list(range(9))


def test_every_digester_is_aborted_while_threads_let_go_of_theirs():
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


def test_a_digester_is_aborted_while_its_thread_lets_go_of_its_process():
    class Child:
        is_stopped = False

        def stop(self):
            self.is_stopped = True

    class LettingGo(Digester):
        """Has its process for whoever looks first."""

        @property
        def _process(self):
            process, self._kept = self._kept, None
            return process

        @_process.setter
        def _process(self, process):
            self._kept = process

    digester, child = LettingGo(), Child()
    digester._process = child
    digester.abort()
    assert child.is_stopped


def test_pool_digests_no_further_than_finished_digests_may_take(monkeypatch):
    begun, held_up = [], set()
    has_room = sandbox_pool._Shelf.has_room

    def has_room_noted(shelf, place, within_s):
        answer = has_room(shelf, place, within_s)
        (held_up.discard if answer else held_up.add)(threading.get_ident())
        return answer

    monkeypatch.setattr(sandbox_pool, "DIGEST_BYTES", 100_000)
    monkeypatch.setattr(sandbox_pool, "GROUP_BYTES", 1)
    monkeypatch.setattr(sandbox_pool, "WATCH_S", 0.02)
    monkeypatch.setattr(sandbox_pool._Shelf, "has_room", has_room_noted)
    note_digests(monkeypatch, begun)
    documents = [Submission(key=n, content=b"word " * 20_000, path="a.txt") for n in range(12)]
    with DigesterPool(2) as pool:
        results = pool.digest_groups(documents)
        taken = [key for key, _ in next(results)]
        wait_until(lambda: len(held_up) == 2, 60)
        assert len(begun) <= 3  # the one that was taken, and one by each thread
        taken += [key for group in results for key, _ in group]
    assert taken == list(range(12))


def test_pool_gives_several_that_are_ready_together():
    with DigesterPool(1) as pool:
        documents = [Submission(key=n, content=b"word", path="a.txt") for n in range(10)]
        groups = [[key for key, _ in group] for group in pool.digest_groups(documents)]
    assert [key for group in groups for key in group] == list(range(10))
    assert len(groups) < 10
