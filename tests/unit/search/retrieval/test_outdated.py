"""Signals of outdated pages, and what only sounds like them."""

from datetime import UTC, datetime

import pytest

from search.retrieval.outdated import (
    NEVER,
    Currency,
    are_alike,
    is_asked_for,
    is_newer,
    newer_from,
    read_currency,
)
from search.retrieval.query.metadata import filter_values


def _read(
    title="Travel policy", *, path="hr/travel.md", tags=(), text="Trips need consent.", prose=True, **metadata
) -> Currency:
    return read_currency(
        title=title, path=path, tags=tags, values=filter_values(metadata), text=text, is_prose=prose
    )


@pytest.mark.parametrize(
    "given",
    [
        {"title": "Vacation policy 2024 (superseded)"},
        {"title": "[DEPRECATED] Travel policy"},
        {"title": "Deprecated: Travel policy"},
        {"title": "Travel policy - archived"},
        {"title": "ARCHIVED Travel policy"},
        {"title": "Travel policy (archive)"},
        {"title": "Travel policy (no longer valid since 2023)"},
        {"title": "Urlaubsregelung 2024 (veraltet)"},
        {"title": "Reisekosten – abgelöst durch Richtlinie 7"},
        {"title": "Reisekosten [überholt]"},
        {"title": "Congés (obsolète)"},
        {"title": "Frais de déplacement : remplacée par la note 12"},
        {"title": "Política de viajes (obsoleta)"},
        {"title": "Reisbeleid (verouderd)"},
        {"title": "Положение о командировках (устарело)"},
        {"title": "休暇規定（廃止）"},
        {"status": "archived"},
        {"status": "Superseded by ADR-12"},
        {"Status": "veraltet"},
        {"deprecated": True},
        {"archived": "yes"},
        {"superseded_by": "travel-2026.md"},
        {"valid_until": "2020-12-31"},
        {"tags": ["hr", "archive"]},
        {"tags": ["veraltet"]},
        {"path": "hr/archive/travel.md"},
        {"path": "hr/Archiv 2023/travel.md"},
        {"path": "_archive/travel.md"},
        {"path": "hr/old/travel.md"},
        {"text": "# Travel policy\n\nThis page is superseded by [the new one](travel.md).\n"},
        {"text": "> **Deprecated**: use the new policy.\n"},
        {"text": "> [!WARNING]\n> This document is no longer valid.\n"},
        {"text": "⚠️ This travel policy has been superseded by the one of 2026."},
        {"text": "## Status\n\nSuperseded by [ADR 12](0012.md)\n"},
        {"text": "Status: superseded by ADR 12\n"},
        {"text": "Diese Seite ist veraltet. Siehe [Reisen](reisen.md).\n"},
        {"text": "Diese Richtlinie wurde durch die Reiserichtlinie 2026 ersetzt.\n"},
        {"text": "Hinweis: Dieses Dokument ist nicht mehr gültig.\n"},
        {"text": "Cette page est désormais obsolète.\n"},
        {"text": "Ce document a été remplacé par la note 12.\n"},
    ],
)
def test_outdated_page_says_so(given):
    since = _read(**given).outdated_from

    assert since is not None and since < datetime(2024, 1, 1, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"title": "How to deprecate an endpoint"},
        {"title": "Deprecated APIs", "path": "api/deprecated.md"},
        {"title": "Deprecated"},
        {"title": "Deprecation policy", "tags": ["deprecation"]},
        {"title": "Archived projects: how to restore them"},
        {"title": "Outdated browsers we support"},
        {"title": "Archive: user guide", "path": "products/archive/guide.md", "tags": ["archive"]},
        {"title": "Archive storage", "path": "archive/storage.md"},
        {"title": "ARCHIVED PROJECTS"},
        {"title": "Veraltete Browser"},
        {"title": "Umgang mit veralteten Seiten"},
        {"title": "Que faire des pages obsolètes"},
        {"title": "Release notes 2.4"},
        {"status": "accepted"},
        {"status": "draft"},
        {"deprecated": False},
        {"archived": "no"},
        {"valid_until": "2999-12-31"},
        {"text": "This page is about deprecated endpoints and how we remove them.\n"},
        {"text": "This page explains how endpoints are deprecated.\n"},
        {"text": "This page is not outdated.\n"},
        {"text": "If this page is outdated, tell us.\n"},
        {"text": "# Changelog\n\n## 2.0\n\n### Deprecated\n\n- `old_call`\n"},
        {"text": "Deprecated endpoints are listed here.\n"},
        {"text": "Diese Seite erklärt, wie veraltete Seiten gelöscht werden.\n"},
        {"text": "Diese Regel ist nicht veraltet.\n"},
        {"text": "Cette page décrit les API obsolètes.\n"},
        {"text": "def old():\n    pass  # deprecated\n", "path": "old/calls.py", "prose": False},
        {"path": "docs/gold/travel.md"},
    ],
)
def test_page_about_something_else_is_current(given):
    since = _read(**given).outdated_from

    assert since is None or since > datetime(2900, 1, 1, tzinfo=UTC).timestamp()


def test_verified_page_never_is_outdated():
    found = _read("Travel policy (superseded)", path="archive/a.md", tags=["archive"], status="verified")

    assert found.outdated_from == NEVER


@pytest.mark.parametrize(
    ("given", "successor"),
    [
        ({"superseded_by": "../travel.md", "path": "hr/archive/travel.md"}, "travel"),
        ({"superseded_by": "https://wiki.example.com/hr/travel-rules.html#top"}, "travel rules"),
        ({"superseded_by": "Travel Policy"}, "travel policy"),
        ({"superseded_by": "0f" * 16}, "0f" * 16),
        ({"text": "This page is superseded by [that](travel-2026.md)."}, "travel 2026"),
        ({"text": "Diese Seite ist veraltet.\nSiehe [[Reisen]]."}, "reisen"),
        ({"text": "Superseded by Travel rules."}, "travel rules"),
        ({"text": "This page is outdated."}, ""),
    ],
)
def test_successor_is_the_stated_page(given, successor):
    assert _read(**given).successor == successor


@pytest.mark.parametrize(
    ("title", "path", "family", "edition"),
    [
        ("Vacation policy 2024 (superseded)", "a.md", "vacation policy", "2024"),
        ("Vacation policy", "a.md", "vacation policy", ""),
        ("Vacation policy", "2023/vacation.md", "vacation policy", "2023"),
        ("Vacation policy", "vacation-2022.md", "vacation policy", "2022"),
        ("Security policy v1.2", "a.md", "security policy", "v1.2"),
        ("Sicherheitsrichtlinie (Fassung 2)", "a.md", "sicherheitsrichtlinie", "Fassung 2"),
        ("Old vacation policy", "a.md", "vacation policy", "old"),
        ("Vacation policy", "vacation_old.md", "vacation policy", "old"),
        ("Release notes 2024", "a.md", "", ""),
        ("Team meeting 2024-03-01", "a.md", "", ""),
        ("Jahresbericht 2023", "a.md", "", ""),
        ("Results Q3 2024", "a.md", "", ""),
        ("Python 3.12 upgrade", "a.md", "python 3 12 upgrade", ""),
    ],
)
def test_edition_is_a_year_or_version(title, path, family, edition):
    found = _read(title, path=path)

    assert (found.family, found.edition) == (family, edition)


def test_newer_edition_has_the_later_year_or_version():
    in_2020 = datetime(2020, 5, 1, tzinfo=UTC).timestamp()

    assert is_newer("2025", None, "2024", None)
    assert is_newer("v1.10", None, "v1.9", None)
    assert is_newer("", None, "2024", None)
    assert is_newer("", None, "old", None)
    assert is_newer("2024", None, "", in_2020)
    assert not is_newer("2024", None, "2024", None)
    assert not is_newer("2024", None, "v3", None)
    assert not is_newer("", in_2020, "2024", None)
    assert not is_newer("", None, "", None)
    assert not is_newer("v2", None, "", None)
    assert newer_from("2031") > newer_from("2030") > newer_from("v2") == newer_from("")


def test_pages_with_other_words_are_not_alike():
    old = "Every employee has 25 days of paid vacation per year; unused days expire."

    assert are_alike(old, "Every employee has 30 days of paid vacation per year. Ask your manager.")
    assert not are_alike(old, "Added tables, fixed crashes at startup, removed the legacy importer module.")


def test_query_asks_for_an_edition_by_its_words():
    assert is_asked_for(["vacation", "policy", "2024"], "2024")
    assert is_asked_for(["archived", "policy"], "")
    assert not is_asked_for(["vacation", "2025"], "2024")
    assert not is_asked_for(["vacation"], "")
