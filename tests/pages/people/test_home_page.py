"""Home: a person's workspaces, and creation of one."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from kebab.identity.caller import ADMINS, Need
from kebab.identity.models import Membership, Role, Workspace
from kebab.pages.page import Tab
from kebab.people.groups import create_group
from kebab.people.operator import command_line_access
from search.access.restrictions import restrict
from search.models import Source
from tests.pages.page_text import markup_of
from tests.pages.search.shelf import make_member, shelve
from tests.support.extensions import set_contributions

ALL = "/workspaces"


@pytest.fixture
def two(owner, other_workspace, mirrors, blobs):
    Membership.objects.create(workspace=other_workspace, user=owner, role=Role.VIEWER)


def card_of(page, name):
    return next(card for card in page.context["cards"] if card["access"].workspace.name == name)


def test_workspace_is_shown_with_role_documents_and_when_it_was_indexed(at, two, workspace, monkeypatch):
    shelve(workspace, "a.md", "words")
    Source.objects.in_workspace(workspace).update(last_indexed_at="2024-05-06T07:08:00Z")
    page = at.get("/")
    own, other = card_of(page, "Team handbook"), card_of(page, "Board papers")
    assert (own["access"].role, own["document_count"], own["has_more"]) == (Role.OWNER, 1, False)
    assert (other["access"].role, other["document_count"]) == (Role.VIEWER, 0)
    assert "6 May 2024" in page.content.decode()

    monkeypatch.setattr("search.pages.home.COUNT_LIMIT", 2)
    for path in ("b.md", "c.md"):
        shelve(workspace, path, "words")
    many = card_of(at.get("/"), "Team handbook")
    assert (many["document_count"], many["has_more"]) == (2, True)


def test_first_steps_are_shown_to_owners_until_there_is_a_document(at, two, workspace):
    steps = '<ol class="onboarding"'
    assert at.get(ALL).content.decode().count(steps) == 1  # a viewer of the other one is shown none
    shelve(workspace, "a.md", "words")
    assert steps not in at.get(ALL).content.decode()


def test_pages_that_need_attention_are_named_to_those_who_may_open_them(at, two, monkeypatch):
    def tab(route, need):
        return Tab(
            label=route,
            route=route,
            icon="activity",
            need=need,
            place=1,
            count=lambda access: 3 * (route != "ask"),
        )

    viewers = Need(role=Role.VIEWER, scope="any")
    set_contributions(monkeypatch, tabs=(tab("sources", viewers), tab("people", ADMINS), tab("ask", viewers)))
    page = at.get(ALL)

    named = {
        name: [(link["route"], link["badge"]) for link in card_of(page, name)["attention"]]
        for name in ("Team handbook", "Board papers")
    }
    assert named == {"Team handbook": [("sources", 3), ("people", 3)], "Board papers": [("sources", 3)]}


def test_only_workspace_is_opened_at_once_without_counting(at, workspace):
    with CaptureQueriesContext(connection) as queries:
        assert at.get("/")["Location"] == "/w/handbook/search"

    assert not [query for query in queries if "search_document" in query["sql"]]
    assert "Team handbook" in at.get(ALL).content.decode()


def test_documents_that_one_may_not_read_are_not_counted(at, two, other_workspace):
    shelve(other_workspace, "a.md", "words")
    restrict(Source.objects.get(), [create_group(command_line_access(other_workspace), "Board").pk])

    assert card_of(at.get("/"), "Board papers")["document_count"] == 0


def test_workspaces_are_listed_page_by_page(at, two, monkeypatch):
    monkeypatch.setattr("search.pages.home.CARDS", 1)
    first = at.get(ALL)
    second = at.get(ALL, {"cursor": first.context["next_cursor"]})

    shown = [page.context["cards"][0]["access"].workspace.slug for page in (first, second)]
    assert (shown, second.context["next_cursor"]) == (["handbook", "secrets"], None)


def test_slug_of_a_new_workspace_is_derived_from_its_name(at, owner):
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
