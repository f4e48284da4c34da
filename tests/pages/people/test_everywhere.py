"""The page that searches all workspaces of a person."""

import pytest

from kebab.identity.models import Membership, Role
from search.models import Document
from tests.pages.page_text import markup_of
from tests.pages.search.shelf import shelve

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def two(owner, workspace, other_workspace, mirrors, blobs):
    Membership.objects.create(workspace=other_workspace, user=owner, role=Role.VIEWER)
    shelve(workspace, "leave.md", "annual leave")
    shelve(other_workspace, "minutes.md", "annual report")


def test_hits_of_all_workspaces_link_to_their_documents(at, two, workspace, other_workspace):
    page = at.get("/search?q=annual")
    markup = markup_of(page)
    for space in (workspace, other_workspace):
        document = Document.objects.in_workspace(space).get()
        assert f"/w/{space.slug}/documents/{document.doc_id.hex}" in markup
        assert f"/w/{space.slug}/search?q=annual" in markup
    assert [space.name for space, _ in page.context["hits"]].count("Team handbook") == 1


def test_others_workspaces_are_not_searched(at, workspace, other_workspace, mirrors, blobs):
    shelve(workspace, "leave.md", "annual leave")
    shelve(other_workspace, "minutes.md", "annual report")
    markup = markup_of(at.get("/search?q=annual"))
    assert other_workspace.slug not in markup
    assert other_workspace.name not in markup


def test_page_without_a_query_asks_for_one_and_a_wrong_query_is_refused(at, two):
    assert 'class="result' not in markup_of(at.get("/search"))
    assert 'role="alert"' in markup_of(at.get("/search?q=x&mode=psychic"), status=400)
