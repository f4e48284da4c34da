import pytest

from kebab.locations import DOCS

pytestmark = pytest.mark.slow


def test_page_can_be_followed(make_reader, handbook):
    reader = make_reader()
    reader.terminal.serve("kebab up")
    reader.type(f"kebab ingest {handbook} --workspace handbook --create")
    reader.follow(DOCS / "bundles.md")
