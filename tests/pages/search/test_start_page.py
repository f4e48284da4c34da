"""The page before a search: what the person opened, bookmarked and saved, and what is new and popular."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from kebab.identity.models import Group
from search.access.restrictions import restrict
from search.models import Bookmark, Document, SavedSearch, Source
from search.pages.search.start import SHOWN
from tests.pages.search.shelf import make_member, shelve

START = "/w/handbook/search"
RECENT, MARKED, NEW, POPULAR = range(4)
LABELS = ("Recently opened", "Bookmarks", "New", "Popular")


@pytest.fixture
def shelf(workspace):
    """Write documents a to d, the first the newest, c and d to a source of their own."""
    now = timezone.now()
    for days, name in enumerate("abcd"):
        shelve(workspace, f"{name}.md", "words", source="handbook" if name < "c" else "board")
        Document.objects.filter(path=f"{name}.md").update(dated_at=now - timedelta(days=days + 1))
    return {row.path[0]: row for row in Document.objects.in_workspace(workspace)}


def names_by_list(client, at=START):
    """Return the names of the documents in each list, by its label."""
    lists = client.get(at).context["lists"]
    return {str(label): "".join(row.path[0] for row, _ in rows) for label, rows in lists}


def open_document(client, document, workspace="handbook"):
    assert client.get(f"/w/{workspace}/documents/{document.doc_id.hex}").status_code == 200


def bookmark(document, *creators):
    for creator in creators:
        Bookmark.objects.create(workspace=document.workspace, document=document, creator=creator)


def hide_board(workspace):
    few = Group.objects.create(workspace=workspace, name="few")
    restrict(Source.objects.get(workspace=workspace, key="board"), [few.pk])


def test_documents_are_listed_that_one_opened_last_whoever_else_uses_the_browser(visitor, workspace, shelf):
    for name in "abcb":
        open_document(visitor, shelf[name])
    assert names_by_list(visitor)[LABELS[RECENT]] == "bca"

    owner = workspace.memberships.get().user
    visitor.force_login(make_member(workspace, "bob@example.org"))
    assert LABELS[RECENT] not in names_by_list(visitor)
    open_document(visitor, shelf["d"])
    assert names_by_list(visitor)[LABELS[RECENT]] == "d"
    visitor.force_login(owner)
    assert LABELS[RECENT] not in names_by_list(visitor)


def test_documents_of_another_workspace_are_listed_there_alone(visitor, member, other_workspace, shelf):
    other_workspace.memberships.create(user=member, role="viewer")
    elsewhere = shelve(other_workspace, "x.md", "words")
    open_document(visitor, elsewhere, "secrets")
    open_document(visitor, shelf["a"])

    assert names_by_list(visitor)[LABELS[RECENT]] == "a"
    assert names_by_list(visitor, "/w/secrets/search")[LABELS[RECENT]] == "x"
    recent = visitor.get("/workspaces").context["recent"]
    assert [document.path for document, _, _ in recent] == ["a.md", "x.md"]


def test_cookie_that_was_changed_is_ignored(visitor, shelf):
    open_document(visitor, shelf["a"])
    visitor.cookies["kebab_recent"] = shelf["b"].doc_id.hex + visitor.cookies["kebab_recent"].value[32:]
    assert LABELS[RECENT] not in names_by_list(visitor)


def test_own_bookmarks_and_what_several_people_bookmarked_are_listed(visitor, member, shelf):
    me = f"user:{member.pk}"
    bookmark(shelf["a"], me)
    bookmark(shelf["b"], "user:0", "user:1")
    bookmark(shelf["c"], "user:0", "user:1", me)
    bookmark(shelf["d"], "user:0")

    lists = names_by_list(visitor)
    assert (lists[LABELS[MARKED]], lists[LABELS[POPULAR]], lists[LABELS[NEW]]) == ("ca", "cb", "abcd")


def test_dates_to_come_are_not_new(visitor, shelf):
    Document.objects.filter(pk=shelf["b"].pk).update(dated_at=timezone.now() + timedelta(days=9))
    assert names_by_list(visitor)[LABELS[NEW]] == "acd"


def test_documents_that_one_may_no_longer_read_are_on_no_list(visitor, member, workspace, shelf):
    for name in "bc":
        open_document(visitor, shelf[name])
        bookmark(shelf[name], "user:0", "user:1", f"user:{member.pk}")
    hide_board(workspace)

    assert names_by_list(visitor) == dict(zip(LABELS, ("b", "b", "ab", "b"), strict=True))


def test_own_saved_searches_are_links(visitor, member, workspace, shelf):
    bob = make_member(workspace, "bob@example.org")
    for user, name in ((member, "Mine"), (bob, "Other")):
        membership = workspace.memberships.get(user=user)
        SavedSearch.objects.create(
            workspace=workspace, membership=membership, name=name, text="words", mode="hybrid"
        )
    saved = visitor.get(START).context["saved"]
    assert [(row.name, address) for row, address in saved] == [("Mine", f"{START}?q=words&mode=hybrid")]


def test_statements_and_entries_are_bounded(visitor, workspace, shelf):
    def statements():
        with CaptureQueriesContext(connection) as queries:
            visitor.get(START)
        return len(queries)

    open_document(visitor, shelf["a"])
    bookmark(shelf["a"], "user:0", "user:1")
    few = statements()
    for number in range(2 * SHOWN):
        bookmark(shelve(workspace, f"{number}.md", "words"), "user:0", "user:1")
    assert statements() == few
    assert {len(rows) for _, rows in visitor.get(START).context["lists"]} == {1, SHOWN}
