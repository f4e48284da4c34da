"""Outdated pages say so, lead to what replaces them, and are marked by editors."""

import pytest

from ingest.models import Job
from kebab.identity.models import Role
from search.models import Document
from tests.pages.search.shelf import make_member, shelve
from tests.support.search import sync

pytestmark = pytest.mark.django_db(transaction=True)


def address(document, below=""):
    return f"/w/handbook/documents/{document.doc_id.hex}{below}"


@pytest.fixture
def pages(workspace):
    """Return a superseded page and the one that replaces it."""
    texts = {"old.md": "Trips 2024 (superseded)", "new.md": "Trips"}
    found = [shelve(workspace, path, f"# {title}\n\nHotels cost 90.\n") for path, title in texts.items()]
    for document, title in zip(found, texts.values(), strict=True):
        Document.objects.filter(pk=document.pk).update(title=title)
    sync(workspace)
    return found


def test_outdated_page_leads_to_the_newer_one(visitor, pages):
    _, new = pages

    shown = [visitor.get(address(document)).content.decode() for document in pages]

    assert [text.count("doc-outdated") for text in shown] == [1, 0]
    assert f'href="{address(new)}"' in shown[0]


def test_editors_alone_mark_a_page(visitor, workspace, pages):
    old, new = pages
    refused = visitor.post(address(old, "/mark"), {"status": "verified"})
    visitor.force_login(make_member(workspace, "ed@example.com", role=Role.EDITOR))

    unknown = visitor.post(address(old, "/mark"), {"status": "outdated", "successor": "No such page"})
    marked = visitor.post(address(old, "/mark"), {"status": "outdated", "successor": "trips"})

    assert (refused.status_code, unknown.status_code, marked.status_code) == (403, 302, 302)
    (job,) = Job.objects.in_workspace(workspace).filter(payload__path="old.md")
    assert (job.payload["status"], job.payload["superseded_by"]) == ("outdated", new.doc_id.hex)


def test_results_link_to_older_versions_and_to_newer_ones(visitor, pages):
    old, new = pages

    newer, older = (
        visitor.get(f"/w/handbook/search?mode=lexical&q={words}").content.decode()
        for words in ("hotels+cost", "hotels+cost+2024")
    )

    assert f'href="{address(old)}">2024</a>' in newer
    assert f'href="{address(new)}">Trips</a>' in older
