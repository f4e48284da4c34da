import json

import pytest

from kebab.locations import DOCS

pytestmark = pytest.mark.slow


def test_page_can_be_followed(make_reader, handbook):
    reader = make_reader()
    reader.replaced |= {f"/{name}": str(reader.terminal.home / name) for name in ("backup", "new-")}
    reader.terminal.serve("kebab up")
    reader.type(f"kebab ingest {handbook / 'finance'} --workspace handbook --create")
    backups = reader.terminal.home / "backup" / "kebab"
    reader.type(f"kebab backup {backups}")
    (first,) = backups.glob("20*")
    reader.replaced["2026-11-22T100000Z"] = first.name
    reader.type(f"kebab ingest {handbook / 'sales'} --workspace handbook")

    reader.follow(DOCS / "operations" / "backup.md", heading="The embedded stack")

    listed = json.loads(reader.type("kebab list sources --workspace handbook --json"))
    assert [source["key"] for source in listed["results"]] == ["finance"]
