"""One limited process: its results, and the failures that it survives."""

import subprocess
import sys
from contextlib import closing

import psutil
import pytest

from ingest.digest import digester as digester_module
from ingest.digest.digester import MAX_ATTEMPTS, Digester
from ingest.digest.types import DigestLimits, Overrides
from ingest.parsers.errors import ParseRefused, Quarantined
from ingest.parsers.file_types import TYPES
from ingest.parsers.registry import parser_version_for
from kebab.sandbox.program import OUT_OF_MEMORY, ChildDied
from search.corpus.content_ids import content_hash
from tests.support.paths import ROOT

MARKDOWN = b"---\ntags: [a, b]\n---\n# Title\n\nSome *text*.\n"


@pytest.fixture
def digester():
    with closing(Digester()) as one:
        yield one


def test_digester_returns_the_whole_document_from_one_process(digester):
    digest = digester.digest(MARKDOWN, "docs/a.md")
    pid = digester.child_pid
    found = (digest.title, digest.tags, digest.mime, digest.media)
    assert found == ("Title", ("a", "b"), "text/markdown", "text")
    assert (digest.parser, digest.parser_version) == ("markdown", parser_version_for("docs/a.md"))
    assert digest.metadata == {"tags": ["a", "b"]}
    (chunk,) = digest.chunks
    place = {"kind": "line", "start": 6, "end": 6}
    assert (chunk.ordinal, chunk.text, chunk.plain, chunk.spans[0]) == (
        0,
        "Some *text*.",
        "Some text.",
        place,
    )

    with pytest.raises(ParseRefused) as refusal:
        digester.digest(b"fLaC\x00\x00\x00\x22" + bytes(40), "a.flac")
    assert refusal.value.code == "no_parser"
    digester.digest(MARKDOWN, "b.md")
    assert digester.child_pid == pid


def test_overrides_replace_what_was_found(shared_digester):
    overrides = Overrides(title="Given", lang="fr")
    digest = shared_digester.digest(MARKDOWN, "a.md", overrides)
    assert (digest.title, digest.lang) == ("Given", "fr")
    assert digest.chunks[0].breadcrumb == "Given > Title"


def test_document_that_takes_too_long_is_quarantined(monkeypatch):
    with (
        closing(Digester(DigestLimits(seconds=0.05, seconds_per_mb=0))) as digester,
        pytest.raises(Quarantined, match=r"attempt 1: .* 0\.05 s; attempt 2"),
    ):
        digester.digest(b"words of a long text " * 300_000, "a.md")
    monkeypatch.setattr(digester_module, "MAX_ATTEMPTS", 2)
    limits = DigestLimits(seconds=0, seconds_per_mb=0)
    with closing(Digester(limits)) as digester, pytest.raises(Quarantined, match=r"attempt 2: .* 0 s$"):
        digester.digest(MARKDOWN, "a.md")  # it ends before a parser is chosen


def test_document_that_needs_too_much_memory_is_quarantined_and_the_next_one_works():
    with closing(Digester(DigestLimits(memory_bytes=48 * 1024**2))) as digester:
        with pytest.raises(Quarantined, match="memory"):
            digester.digest(b"word\n\n" * 800_000, "a.md")
        assert digester.digest(b"short\n", "b.md").chunks[0].text == "short"


def test_parser_that_runs_out_of_memory_in_a_used_process_is_tried_in_a_new_one():
    class Used(Digester):
        """Runs out of memory in every process but a new one."""

        def ask(self, request, read):
            if self.child_pid is not None:
                self.close()
                raise ChildDied(OUT_OF_MEMORY)
            return super().ask(request, read)

    with closing(Used()) as digester:
        for _ in range(2):
            assert digester.digest(MARKDOWN, "a.md").parser == "markdown"


@pytest.mark.slow
def test_simpler_parser_takes_over_in_a_fresh_process():
    # enough for plain text, too little for the tokens of the Markdown parser
    with closing(Digester(DigestLimits(memory_bytes=128 * 1024**2))) as digester:
        digest = digester.digest(b"- a\n" * 150_000, "a.md")
    assert digest.parser == "text"
    assert digest.parser_version == parser_version_for("a.md")


def test_large_document_comes_back_in_order(shared_digester):
    content = b"A line of a large log that goes on and on, number after number.\n" * 20_000
    digest = shared_digester.digest(content, "big.log")
    assert digest.chunks[-1].spans[0]["end"] == 20_000
    assert sum(chunk.text.count("\n") + 1 for chunk in digest.chunks) == 20_000


def test_standard_error_of_the_process_is_logged_with_the_hash_of_the_content(digester, caplog):
    content = b"no notebook\n"
    assert digester.digest(content, "a.ipynb").warnings
    assert f"content {content_hash(content)}: ingest.parsers.registry: parser notebook failed" in caplog.text


def test_memory_of_the_child_is_limited(digester):
    digester.digest(MARKDOWN, "a.md")
    child = psutil.Process(digester.child_pid)
    assert child.rlimit(psutil.RLIMIT_AS)[1] < 2 * 1024**3
    assert child.rlimit(psutil.RLIMIT_DATA)[1] < 700 * 1024**2
    assert child.memory_info().rss < 120 * 1024**2


def test_child_imports_no_django_and_no_grammar_before_it_needs_one():
    program = """
import sys
from ingest.digest import child
from ingest.parsers.content_type import identify
from ingest.parsers.syntax.code import read_syntax
assert "django" not in sys.modules
assert not [name for name in sys.modules if name.startswith("tree_sitter")]
read_syntax(["x = 1"], identify(b"x = 1", "a.py"))
assert "tree_sitter_python" in sys.modules and "tree_sitter_c" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


def test_every_parser_ladder_fits_the_number_of_attempts():
    assert max(len(file.parsers) for file in TYPES.values()) < MAX_ATTEMPTS
