"""Bookmarks over the API: those of the person, also by their tools."""

import pytest

from kebab.identity.models import Role
from kebab.identity.tokens import mint_personal_token
from tests.support.actors import bearer_client, make_member, person_client, token_client
from tests.support.api import address
from tests.support.corpus import write

pytestmark = pytest.mark.django_db


def test_bookmarks_are_set_listed_and_removed_by_a_person_and_their_tool(workspace):
    first, second = (write(workspace, f"{name}.md", name).doc_id.hex for name in ("a", "b"))
    person = make_member(workspace, Role.VIEWER)
    tool = bearer_client(mint_personal_token(person, scopes=["search"])[1])
    browser = person_client(person)
    for doc_id in (first, second, first):
        assert tool.put(address(workspace, f"/bookmarks/{doc_id}")).status_code == 204
    listed = browser.get(address(workspace, "/bookmarks")).json()["results"]
    assert [(row["doc_id"], row["path"]) for row in listed] == [(second, "b.md"), (first, "a.md")]
    assert browser.delete(address(workspace, f"/bookmarks/{second}")).status_code == 204
    assert [row["doc_id"] for row in tool.get(address(workspace, "/bookmarks")).json()["results"]] == [first]
    assert tool.put(address(workspace, f"/bookmarks/{'0' * 32}")).status_code == 404
    other = person_client(make_member(workspace, Role.VIEWER))
    assert other.get(address(workspace, "/bookmarks")).json()["results"] == []
    assert token_client(workspace, "search").get(address(workspace, "/bookmarks")).status_code == 403
