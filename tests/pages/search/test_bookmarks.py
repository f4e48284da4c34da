"""Bookmarks of documents."""

import re

from kebab.identity.models import Group
from search.access.restrictions import restrict
from search.models import Bookmark, Source
from tests.pages.search.shelf import make_member

LIST = "/w/handbook/bookmarks"


def titles(visitor):
    return re.findall(r'/documents/[0-9a-f-]+">([^<]+)</a>', visitor.get(LIST).content.decode())


def button(page):
    """Return address and state of the first result's button."""
    return re.search(r'formaction="([^"]+/bookmarks/[^"]+)"[^>]*aria-pressed="(\w+)"', page).groups()


def test_bookmark_is_set_and_removed_from_a_result_and_listed_for_its_owner_alone(
    client, visitor, workspace, guide
):
    address, state = button(visitor.get("/w/handbook/search?q=restart").content.decode())
    assert (state, titles(visitor)) == ("false", [])
    for _ in range(2):
        assert visitor.post(address, headers={"hx-request": "true"}).status_code == 204
    assert Bookmark.objects.count() == 1 and len(titles(visitor)) == 1

    address, state = button(visitor.get("/w/handbook/search?q=restart").content.decode())
    assert (state, address.endswith("?on=no")) == ("true", True)
    bob = make_member(workspace, "bob@example.org")
    client.force_login(bob)
    assert titles(client) == []
    client.post(address)
    assert Bookmark.objects.count() == 1
    client.force_login(workspace.memberships.get(user__email="ada@example.org").user)
    assert client.post(address).url == LIST
    assert Bookmark.objects.count() == 0


def test_hidden_document_looks_missing_and_a_deleted_one_takes_its_bookmark_along(visitor, workspace, guide):
    address, _ = button(visitor.get("/w/handbook/search?q=restart").content.decode())
    visitor.post(address)
    restrict(
        Source.objects.get(workspace=workspace), [Group.objects.create(workspace=workspace, name="few").pk]
    )

    assert visitor.post(address).status_code == 404
    assert titles(visitor) == []
    type(guide).objects.in_workspace(workspace).filter(pk=guide.pk).delete()
    assert Bookmark.objects.count() == 0
