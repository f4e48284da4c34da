import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

import ingest
from ingest.parsers.errors import ParseRefused, Quarantined, SandboxUnavailable
from ingest.parsers.file_types import MARKUP, STRUCTURED, TRANSCRIPTS, type_by_name
from ingest.parsers.registry import parser_version_for
from ingest.sandbox import process as sandbox_process
from ingest.sandbox.digester import MAX_ATTEMPTS, Digester
from ingest.sandbox.frames import GOING_ON
from ingest.sandbox.types import DigestLimits, Overrides
from tests.unit.ingest.limited import MARKDOWN, is_running, wait_until

REPOSITORY = Path(ingest.__file__).parent.parent


@pytest.fixture
def digester():
    with Digester() as one:
        yield one


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


def test_crash_is_told_by_its_signal(digester, monkeypatch):
    crashed, exchange = [], sandbox_process.SandboxProcess.exchange

    def crash_meanwhile(process, header, content):
        if len(crashed) < 2:
            crashed.append(process.pid)
            threading.Timer(0.15, os.kill, (process.pid, signal.SIGSEGV)).start()
        return exchange(process, header, content)

    digester.digest(MARKDOWN, "a.md")
    monkeypatch.setattr(sandbox_process.SandboxProcess, "exchange", crash_meanwhile)
    with pytest.raises(
        Quarantined, match=r"attempt 1: it crashed \(SIGSEGV\); attempt 2: it crashed \(SIGSEGV\)"
    ):
        digester.digest(b"some words to count, again and again " * 600_000, "a.md")
    assert len(set(crashed)) == 2


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


def test_no_ladder_is_longer_than_what_is_attempted():
    ladders = [
        type_by_name(f"a.{extension}") for extension in (*MARKUP, *STRUCTURED, *TRANSCRIPTS, "md", "docx")
    ]
    assert max(len(file.parsers) for file in ladders) < MAX_ATTEMPTS
