"""One limited process: what it returns, and what it survives."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress

import psutil
import pytest

from ingest.parsers.errors import ParseRefused, Quarantined, SandboxUnavailable
from ingest.parsers.file_types import MARKUP, STRUCTURED, TRANSCRIPTS, type_by_name
from ingest.parsers.registry import parser_version_for
from ingest.sandbox import child as sandbox_child
from ingest.sandbox import digester as sandbox_digester
from ingest.sandbox import process as sandbox_process
from ingest.sandbox.digester import MAX_ATTEMPTS, Digester
from ingest.sandbox.frames import GOING_ON
from ingest.sandbox.process import SandboxProcess
from ingest.sandbox.types import DigestLimits, Overrides
from tests.support.paths import ROOT
from tests.unit.ingest.sandbox.processes import MARKDOWN, is_running, wait_until


@pytest.fixture
def digester():
    with Digester() as one:
        yield one


def test_document_comes_back_whole_from_one_process(digester):
    digest = digester.digest(MARKDOWN, "docs/a.md")
    pid = digester.child_pid
    found = (digest.title, digest.tags, digest.mime, digest.media)
    assert found == ("Title", ("a", "b"), "text/markdown", "text")
    assert (digest.parser, digest.parser_version) == ("markdown", parser_version_for("docs/a.md"))
    assert digest.metadata == {"tags": ["a", "b"]}
    (chunk,) = digest.chunks
    place = {"kind": "line", "start": 6, "end": 6}
    assert (chunk.ordinal, chunk.text, chunk.spans[0]) == (0, "Some text.", place)

    with pytest.raises(ParseRefused) as refusal:
        digester.digest(b"fLaC\x00\x00\x00\x22" + bytes(40), "a.flac")
    assert refusal.value.code == "no_parser"
    digester.digest(MARKDOWN, "b.md")
    assert digester.child_pid == pid


def test_overrides_replace_what_was_found(shared_digester):
    overrides = Overrides(title="Given", lang="fr", tags=("x",), media="transcript")
    digest = shared_digester.digest(MARKDOWN, "a.md", overrides)
    assert (digest.title, digest.lang, digest.tags, digest.media) == ("Given", "fr", ("x",), "transcript")
    assert digest.chunks[0].breadcrumb == "Given > Title"
    assert shared_digester.digest(MARKDOWN, "a.md", Overrides(tags=())).tags == ()


def test_document_that_takes_too_long_is_quarantined(monkeypatch):
    with (
        Digester(DigestLimits(seconds=0.05, seconds_per_mb=0)) as digester,
        pytest.raises(Quarantined, match=r"attempt 1: .* 0\.05 s; attempt 2"),
    ):
        digester.digest(b"words of a long text " * 300_000, "a.md")
    monkeypatch.setattr(sandbox_digester, "MAX_ATTEMPTS", 2)
    limits = DigestLimits(seconds=0, seconds_per_mb=0)
    with Digester(limits) as digester, pytest.raises(Quarantined, match=r"attempt 2: .* 0 s$"):
        digester.digest(MARKDOWN, "a.md")  # it ends before a parser is chosen


def test_steps_of_a_parser_put_its_deadline_off_up_to_a_limit():
    limits = DigestLimits(seconds=10.0, seconds_per_mb=0, seconds_per_step=0.2, most_seconds=30.0)
    deadline = sandbox_process._Deadline(0.0, limits)
    assert deadline.seconds_left <= 0
    assert list(deadline.extend(iter([GOING_ON, {"chunks": []}]))) == [{"chunks": []}]
    assert 0 < deadline.seconds_left <= 0.2
    deadline = sandbox_process._Deadline(5.0, DigestLimits(seconds_per_step=1_000.0, most_seconds=7.0))
    list(deadline.extend(iter([GOING_ON])))
    assert deadline.seconds == 7.0


def test_document_that_needs_too_much_memory_is_quarantined_and_the_next_one_works():
    with Digester(DigestLimits(memory_bytes=48 * 1024**2)) as digester:
        with pytest.raises(Quarantined, match="memory"):
            digester.digest(b"word\n\n" * 800_000, "a.md")
        assert digester.digest(b"short\n", "b.md").chunks[0].text == "short"


@pytest.mark.slow
def test_simpler_parser_takes_over_in_a_fresh_process():
    # enough for plain text, too little for the tokens of the Markdown parser
    with Digester(DigestLimits(memory_bytes=128 * 1024**2)) as digester:
        digest = digester.digest(b"- a\n" * 150_000, "a.md")
    assert digest.parser == "text"
    assert digest.parser_version == parser_version_for("a.md")


def end_when_asked(monkeypatch, sent: signal.Signals, times: int) -> list[int]:
    """End so many children by a signal while each is to answer; return their pids."""
    ended, exchange = [], SandboxProcess.exchange

    def end(pid):
        with suppress(ProcessLookupError):
            os.kill(pid, sent)
            os.kill(pid, signal.SIGCONT)

    def exchange_in_vain(process, header, content):
        if len(ended) < times:
            ended.append(process.pid)
            os.kill(process.pid, signal.SIGSTOP)
            threading.Timer(0.05, end, (process.pid,)).start()
        return exchange(process, header, content)

    monkeypatch.setattr(SandboxProcess, "exchange", exchange_in_vain)
    return ended


def test_process_killed_from_outside_costs_the_document_nothing(digester, monkeypatch):
    killed = end_when_asked(monkeypatch, signal.SIGKILL, 1)
    assert digester.digest(MARKDOWN, "a.md").parser == "markdown"
    assert killed and digester.child_pid not in killed


def test_process_that_died_between_documents_is_replaced(digester):
    digester.digest(MARKDOWN, "a.md")
    victim = digester.child_pid
    os.kill(victim, signal.SIGSEGV)
    wait_until(lambda: not is_running(victim))
    assert digester.digest(MARKDOWN, "a.md").parser == "markdown"


def test_crash_is_reported_by_its_signal(digester, monkeypatch):
    crashed = end_when_asked(monkeypatch, signal.SIGSEGV, 2)
    with pytest.raises(Quarantined, match=r"attempt 1: .*SIGSEGV.*; attempt 2: .*SIGSEGV"):
        digester.digest(MARKDOWN, "a.md")
    assert len(set(crashed)) == 2


def test_large_document_passes_without_deadlock(shared_digester):
    content = b"A line of a large log that goes on and on, number after number.\n" * 20_000
    digest = shared_digester.digest(content, "big.log")
    assert digest.chunks[-1].spans[0]["end"] == 20_000
    assert sum(chunk.text.count("\n") + 1 for chunk in digest.chunks) == 20_000


def test_child_ends_at_the_end_of_its_input(digester):
    digester.digest(MARKDOWN, "a.md")
    child = psutil.Process(digester.child_pid)
    digester._process._process.stdin.close()
    assert child.wait(10) is not None


ORPHAN_MAKER = """
from ingest.sandbox.digester import Digester
digester = Digester()
digester.digest(b"x", "a.md")
print(digester.child_pid, flush=True)
digester.digest(b"words and words " * 10_000_000, "big.md")
"""


@pytest.mark.slow
def test_killed_parent_leaves_no_orphan():
    parent = subprocess.Popen(
        [sys.executable, "-c", ORPHAN_MAKER], stdout=subprocess.PIPE, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}
    )
    child = int(parent.stdout.readline())
    assert is_running(child)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    wait_until(lambda: not is_running(child))


def test_child_is_confined(digester, monkeypatch):
    monkeypatch.setenv("KEBAB_SECRET_KEY", "secret")
    digester.digest(MARKDOWN, "a.md")
    child = psutil.Process(digester.child_pid)
    assert "KEBAB_SECRET_KEY" not in child.environ()
    assert child.rlimit(psutil.RLIMIT_FSIZE) == (0, 0)
    assert child.rlimit(psutil.RLIMIT_AS)[0] < 2 * 1024**3
    assert child.memory_info().rss < 120 * 1024**2


def test_child_imports_no_django_and_no_grammar_before_it_needs_one():
    program = """
import sys
from ingest.sandbox import child
from ingest.parsers.content_type import identify
from ingest.parsers.syntax.tree import read_syntax
assert "django" not in sys.modules
assert not [name for name in sys.modules if name.startswith("tree_sitter")]
read_syntax(["x = 1"], identify(b"x = 1", "a.py"))
assert "tree_sitter_python" in sys.modules and "tree_sitter_c" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


def test_unavailable_process_is_not_the_documents_fault(monkeypatch):
    replies = iter([{"unavailable": "no process"}])
    with Digester() as digester, monkeypatch.context() as patch:
        patch.setattr(SandboxProcess, "exchange", lambda *_: (reply for reply in replies))
        with pytest.raises(SandboxUnavailable, match="no process"):
            digester.digest(MARKDOWN, "a.md")
    failing = [sys.executable, "-c", "raise SystemExit('no model')"]
    monkeypatch.setattr(sandbox_process, "_command", lambda limits: failing)
    with Digester() as digester, pytest.raises(SandboxUnavailable, match="no model"):
        digester.digest(MARKDOWN, "a.md")


def test_no_ladder_is_longer_than_the_attempts():
    extensions = (*MARKUP, *STRUCTURED, *TRANSCRIPTS, "md", "docx")
    assert max(len(type_by_name(f"a.{extension}").parsers) for extension in extensions) < MAX_ATTEMPTS


class BrokenChunker:
    def chunk(self, parsed, path, *, max_tokens):
        raise ValueError(f"{path} has {parsed.title}")


def test_failed_digest_is_logged_without_the_content(caplog):
    header = {"path": "zanzibar.md", "overrides": {}, "chunk_tokens": 254, "first_rung": 0}
    frames = list(sandbox_child._digest(header, b"# zanzibar\n", BrokenChunker()))
    assert frames == [{"died": "it failed with ValueError: zanzibar.md has zanzibar"}]
    assert "ValueError at test_digester.py:" in caplog.text
    assert "zanzibar" not in caplog.text
