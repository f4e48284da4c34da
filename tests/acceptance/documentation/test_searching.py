import pytest

from kebab.locations import DOCS
from tests.acceptance.deploy.servers_by_tcp import find_program

pytestmark = pytest.mark.slow


def test_page_can_be_followed(make_reader, handbook):
    find_program("jq", "install Debian's jq", pytest.skip)
    reader = make_reader(KEBAB_EMBEDDER="english")
    reader.terminal.serve("kebab up")
    reader.type(f"kebab ingest {handbook} --workspace handbook --create")
    reader.type("kebab token create --workspace handbook --scope search")
    reader.follow(DOCS / "searching.md")
