"""What is logged of a parser that fails says where, and nothing of the file."""

import pytest

from ingest.parsers import registry
from ingest.sandbox import child

_SECRET = "zanzibar"


class _BrokenChunker:
    def chunk(self, parsed, path, *, max_tokens):
        raise ValueError(f"{path} has {parsed.title}")


@pytest.fixture
def broken_markdown(monkeypatch):
    def parse_markdown(content, file):
        raise ValueError(f"{file.path} begins with {content[:20]!r}")

    monkeypatch.setattr(registry, "PARSERS", {**registry.PARSERS, "markdown": parse_markdown})


def test_of_a_parser_for_which_a_simpler_one_steps_in(caplog, broken_markdown):
    parsed = registry.parse(f"# {_SECRET}\n".encode(), f"{_SECRET}.md")

    assert parsed.parser != "markdown"
    assert "parser markdown failed: ValueError at test_logged_failures.py:" in caplog.text
    assert _SECRET not in caplog.text


def test_of_a_document_that_can_not_be_digested(caplog):
    header = {"path": f"{_SECRET}.md", "overrides": {}, "chunk_tokens": 254, "first_rung": 0}
    frames = list(child._digest(header, f"# {_SECRET}\n".encode(), _BrokenChunker()))

    assert frames == [{"died": f"it failed with ValueError: {_SECRET}.md has {_SECRET}"}]
    assert "digest failed: ValueError at test_logged_failures.py:" in caplog.text
    assert _SECRET not in caplog.text
