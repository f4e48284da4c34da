"""Home: a person's workspaces, and creation of one."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from kebab.people.groups import create_group
from kebab.people.models import Membership, Role, Workspace
from kebab.people.operator import command_line_access
from search.access.restrictions import restrict
from search.models import Source
from tests.pages.page_text import markup_of
from tests.pages.search.shelf import make_member, shelve

ALL = "/workspaces"


@pytest.fixture
def two(owner, other_workspace, mirrors, blobs):
    Membership.objects.create(workspace=other_workspace, user=owner, role=Role.VIEWER)


def card_of(page, name):
    return page.content.decode().partition(f">{name}</a>")[2].partition("</li>")[0]


def test_workspace_is_shown_with_role_documents_and_when_it_was_indexed(at, two, workspace, monkeypatch):
    shelve(workspace, "a.md", "words")
    Source.objects.in_workspace(workspace).update(last_indexed_at="2024-05-06T07:08:00Z")
    page = at.get("/")
    assert re.search(r"owner\W.*\b1 document", card_of(page, "Team handbook"), re.DOTALL)
    assert "6 May 2024" in card_of(page, "Team handbook")
    assert re.search(r"viewer\W.*\b0 documents", card_of(page, "Board papers"), re.DOTALL)

    monkeypatch.setattr("search.pages.home.COUNT_LIMIT", 2)
    for path in ("b.md", "c.md"):
        shelve(workspace, path, "words")
    assert "2 documents" in card_of(at.get("/"), "Team handbook")


def test_only_workspace_is_opened_at_once_without_counting(at, workspace):
    with CaptureQueriesContext(connection) as queries:
        assert at.get("/")["Location"] == "/w/handbook/search"

    assert not [query for query in queries if "search_document" in query["sql"]]
    assert "Team handbook" in at.get(ALL).content.decode()


def test_documents_that_one_may_not_read_are_not_counted(at, two, other_workspace):
    shelve(other_workspace, "a.md", "words")
    restrict(Source.objects.get(), [create_group(command_line_access(other_workspace), "Board").pk])

    assert "0 documents" in card_of(at.get("/"), "Board papers")


def test_a_long_list_goes_on(at, two, monkeypatch):
    monkeypatch.setattr("search.pages.home.CARDS", 1)
    first = at.get(ALL)
    second = at.get(ALL, {"cursor": first.context["next_cursor"]})

    shown = [page.context["cards"][0].access.workspace.slug for page in (first, second)]
    assert (shown, second.context["next_cursor"]) == (["handbook", "secrets"], None)


def test_a_workspace_is_made_with_an_address_of_its_name(at, owner):
    answer = at.post(ALL, {"name": "Größe & Maß 2", "slug": ""})
    made = Workspace.objects.get(name="Größe & Maß 2")

    assert answer["Location"] == f"/w/{made.slug}/search"
    assert made.slug == "groe-ma-2"
    assert Membership.objects.get(workspace=made).role == Role.OWNER
    assert Membership.objects.get(workspace=made).user == owner


def test_refused_workspace_is_reported_at_the_form(at, workspace, other_workspace, subtests):
    for fields, status in (
        ({"name": ""}, 400),
        ({"slug": "Not a slug"}, 400),
        ({"slug": "secrets"}, 409),
        ({"name": "🥙"}, 400),
        ({"slug": "00000000-0000-4000-8000-000000000000"}, 400),
    ):
        with subtests.test(fields=fields):
            typed = {"name": "Typed", "slug": "", **fields}
            page = markup_of(at.post(ALL, typed), status=status)

            assert 'role="alert"' in page
            assert not typed["name"] or f'value="{typed["name"]}"' in page
            assert Workspace.objects.count() == 2


def test_creating_a_workspace_requires_login(client, db):
    assert client.post(ALL, {"name": "Mine"})["Location"].startswith("/login")
    assert not Workspace.objects.exists()


def test_member_leaves_from_home(as_person, workspace):
    visitor = make_member(workspace, "vera@example.org")
    at, leave = as_person(visitor), f"/w/handbook/people/{visitor.pk}/remove"
    assert f'action="{leave}"' in at.get(ALL).content.decode()
    left = at.post(leave, follow=True)

    assert list(left.context["cards"]) == []
