"""Home: the workspaces of a person, and how one is made."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from kebab.people.groups import create_group
from kebab.people.models import Membership, Role, Workspace
from kebab.people.operator import the_operator
from search.models import Source
from search.readers import restrict
from tests.pages.search.shelf import make_member, shelve

ALL = "/workspaces"


@pytest.fixture
def two(owner, other_workspace, mirrors, blobs):
    Membership.objects.create(workspace=other_workspace, user=owner, role=Role.VIEWER)


def card_of(page, name):
    return page.content.decode().partition(f">{name}</a>")[2].partition("</li>")[0]


def test_a_workspace_is_shown_with_role_documents_and_when_it_was_indexed(at, two, workspace):
    shelve(workspace, "a.md", "words")
    Source.objects.in_workspace(workspace).update(last_indexed_at="2024-05-06T07:08:00Z")
    page = at.get("/")

    assert "You are owner. 1 document, last indexed" in card_of(page, "Team handbook")
    assert "6 May 2024" in card_of(page, "Team handbook")
    assert "You are viewer. 0 documents." in card_of(page, "Board papers")


def test_documents_are_counted_so_far(at, two, workspace, monkeypatch):
    monkeypatch.setattr("search.pages.home.COUNTED", 2)
    for path in ("a.md", "b.md", "c.md"):
        shelve(workspace, path, "words")

    assert "You are owner. More than 2 documents." in card_of(at.get("/"), "Team handbook")


def test_nothing_is_counted_on_the_way_to_the_only_workspace(at, workspace):
    with CaptureQueriesContext(connection) as queries:
        assert at.get("/").status_code == 302

    assert not [query for query in queries if "search_document" in query["sql"]]


def test_documents_that_one_may_not_read_are_not_counted(at, two, other_workspace):
    shelve(other_workspace, "a.md", "words")
    group = create_group(the_operator(other_workspace), "Board")
    closed = Source.objects.in_workspace(other_workspace).get()
    Source.objects.filter(pk=closed.pk).update(last_indexed_at="2024-05-06T07:08:00Z")
    restrict(closed, [group.pk])

    assert "You are viewer. 0 documents." in card_of(at.get("/"), "Board papers")


def test_who_has_one_workspace_still_finds_the_list(at, workspace):
    assert at.get("/")["Location"] == "/w/handbook/search"
    assert "Team handbook" in at.get(ALL).content.decode()


def test_a_long_list_goes_on(at, two, monkeypatch):
    monkeypatch.setattr("search.pages.home.CARDS", 1)
    first = at.get(ALL)
    second = at.get(ALL, {"cursor": first.context["next_cursor"]})

    assert [page.context["cards"][0].access.workspace.slug for page in (first, second)] == [
        "handbook",
        "secrets",
    ]
    assert second.context["next_cursor"] is None


def test_a_workspace_is_made_with_an_address_of_its_name(at, owner):
    answer = at.post(ALL, {"name": "Größe & Maß 2", "slug": ""})
    made = Workspace.objects.get(name="Größe & Maß 2")

    assert answer["Location"] == f"/w/{made.slug}/search"
    assert made.slug == "groe-ma-2"
    assert Membership.objects.get(workspace=made).role == Role.OWNER
    assert Membership.objects.get(workspace=made).user == owner


@pytest.mark.parametrize(
    ("fields", "status", "said"),
    [
        ({"name": ""}, 400, "This field is required."),
        ({"slug": "Not a slug"}, 400, "lower-case letters, digits and inner hyphens"),
        ({"slug": "secrets"}, 409, "is taken; choose another one."),
        ({"name": "🥙"}, 400, "none can be made of the name"),
        ({"slug": "00000000-0000-4000-8000-000000000000"}, 400, "reads as a UUID"),
    ],
)
def test_a_workspace_that_cannot_be_made_is_told_beside_the_form(
    at, workspace, other_workspace, text_of, fields, status, said
):
    typed = {"name": "Typed", "slug": "", **fields}
    answer = at.post(ALL, typed)

    assert answer.status_code == status
    assert said in text_of(answer)
    assert not typed["name"] or f'value="{typed["name"]}"' in answer.content.decode()
    assert Workspace.objects.count() == 2


def test_nobody_makes_one_without_logging_in(client, db):
    assert client.post(ALL, {"name": "Mine"})["Location"].startswith("/login")
    assert not Workspace.objects.exists()


def test_a_member_leaves_from_home_and_is_asked_before(as_person, workspace, text_of):
    visitor = make_member(workspace, "vera@example.org")
    at = as_person(visitor)
    assert "<summary>Leave</summary>" in at.get(ALL).content.decode()
    left = at.post(f"/w/handbook/people/{visitor.pk}/remove", follow=True)

    assert "You have left Team handbook." in text_of(left)
    assert "You are not a member of any workspace yet." in text_of(left)
