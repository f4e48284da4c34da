"""Trust levels: stated about a document, else in its front matter, else the default of its source."""

import pytest

from search.corpus import ensure_source, trust_levels
from search.corpus.trust_levels import apply_default_trust, trust_level_of
from search.models import Change, Document, Source
from tests.support.corpus import make_workspace, write

STATED = {"overrides": {"trust_level": "primary"}, "trust_level": "primary"}
CASES = [
    ({}, "secondary"),
    (STATED, "primary"),
    ({"metadata": {"trust_level": "generated"}}, "generated"),
    ({"metadata": {"trust": "generated"}}, "generated"),
    ({"metadata": {"trust_level": "generated", "trust": "primary"}}, "generated"),
    ({"metadata": {"trust_level": "best", "trust": ["primary"]}}, "secondary"),
    ({"metadata": {"trust": "generated"}, **STATED}, "primary"),
]


@pytest.fixture
def documents(workspace):
    """Write a document of each case, and return the expected levels by path."""
    for number, (fields, _) in enumerate(CASES):
        write(workspace, f"{number}.md", "text", **fields)
    write(workspace, "other.md", "text", source="other")
    Source.objects.filter(key="docs").update(default_trust="secondary")
    return {f"{number}.md": level for number, (_, level) in enumerate(CASES)} | {"other.md": "unknown"}


def test_trust_level_prefers_override_then_metadata_then_source_default(workspace, subtests):
    source = ensure_source(workspace, "docs", kind="folder")
    source.default_trust = "secondary"
    for fields, level in CASES:
        with subtests.test(fields=fields):
            found = trust_level_of(source, fields.get("metadata", {}), fields.get("overrides", {}))
            assert found == level
    site = ensure_source(workspace, "site", kind="web")
    assert trust_level_of(site, {"trust": "primary"}, {}) == "unknown"


def test_default_is_applied_and_logged(workspace, documents):
    workspace.refresh_from_db()
    before = workspace.head_seq
    write(make_workspace(), "0.md", "text")
    source = Source.objects.in_workspace(workspace).get(key="docs")
    assert apply_default_trust(workspace.pk, source.pk) == 5
    assert apply_default_trust(workspace.pk, source.pk) == 0

    found = Document.objects.in_workspace(workspace)
    assert dict(found.values_list("path", "trust_level")) == documents
    logged = Change.objects.in_workspace(workspace).filter(seq__gt=before)
    changed = found.filter(path__in=["0.md", "2.md", "3.md", "4.md", "5.md"])
    assert set(logged.values_list("doc_id", flat=True)) == set(changed.values_list("doc_id", flat=True))
    assert logged.count() == 5


def test_default_of_a_web_site_applies_to_its_front_matter(workspace, documents):
    Source.objects.filter(key="docs").update(kind="web")
    source = Source.objects.in_workspace(workspace).get(key="docs")
    apply_default_trust(workspace.pk, source.pk)
    levels = Document.objects.in_workspace(workspace).exclude(overrides__has_key="trust_level")
    assert set(levels.filter(source=source).values_list("trust_level", flat=True)) == {"secondary"}


def test_default_trust_is_applied_in_batches(workspace, documents, monkeypatch):
    monkeypatch.setattr(trust_levels, "BATCH", 3)
    source = Source.objects.in_workspace(workspace).get(key="docs")
    assert [apply_default_trust(workspace.pk, source.pk) for _ in range(3)] == [3, 2, 0]
