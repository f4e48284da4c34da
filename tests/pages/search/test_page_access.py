"""Who gets which page."""

import pytest
from django.contrib.auth import get_user
from django.db import OperationalError
from django.test import Client
from django.urls import resolve

from kebab.people.models import Membership, Workspace
from tests.pages.search.shelf import make_member, shelve
from tests.security.leaks.routes import routes


def document_page(workspace, document):
    return f"/w/{workspace.slug}/documents/{document.doc_id.hex}"


def test_nobody_sees_a_page_without_logging_in(client, workspace, guide):
    pages = ["/", "/w/handbook/search?q=deploy", "/w/missing/search", document_page(workspace, guide)]

    for page in pages:
        response = client.get(page)
        assert response.status_code == 302
        assert response["Location"].startswith("/login?next=/")


def test_a_part_of_a_page_has_the_page_sent_to_log_in(client, workspace):
    response = client.get("/w/handbook/jobs", headers={"HX-Request": "true"})

    assert response["HX-Refresh"] == "true"
    assert response.content == b""


def test_logging_in_leads_to_the_page_that_was_asked_for(client, member, password):
    form = {"username": "Ada@Example.org", "password": password, "next": "/w/handbook/search"}
    response = client.post("/login", form)

    assert response["Location"] == "/w/handbook/search"
    assert get_user(client) == member


def test_logging_in_never_leads_elsewhere(client, member, password):
    form = {"username": "ada@example.org", "password": password, "next": "https://evil.example/"}

    assert client.post("/login", form)["Location"] == "/"


def test_a_wrong_password_is_told_and_the_address_kept(client, db):
    page = client.post("/login", {"username": 'ada"><b>@example.org', "password": "wrong"})

    assert "match an account" in page.content.decode()
    assert "ada&quot;&gt;&lt;b&gt;@example.org" in page.content.decode()


def test_logging_out_takes_a_click_not_a_link(visitor):
    assert visitor.get("/logout").status_code == 405
    assert visitor.post("/logout")["Location"] == "/login"
    assert not get_user(visitor).is_authenticated


def test_the_only_workspace_is_opened_at_once(visitor):
    assert visitor.get("/")["Location"] == "/w/handbook/search"


def test_home_lists_the_workspaces_of_the_person_alone(visitor, member, other_workspace):
    third = Workspace.objects.create(slug="third", name="<b>Third</b>")
    Membership.objects.create(workspace=third, user=member)
    page = visitor.get("/").content.decode()

    assert "Team handbook" in page
    assert "&lt;b&gt;Third&lt;/b&gt;" in page
    assert "Board papers" not in page


def test_home_tells_who_belongs_nowhere_what_to_do(operator_client):
    assert "not a member of any workspace" in operator_client.get("/").content.decode()


@pytest.mark.parametrize("page", ["/w/{}/search?q=board", "/w/{}/documents/{}"])
def test_a_strangers_workspace_looks_like_a_missing_one(visitor, other_workspace, page):
    document = shelve(other_workspace, "board.md", "board minutes")
    strange = visitor.get(page.format("secrets", document.doc_id.hex))
    missing = visitor.get(page.format("missing", document.doc_id.hex))

    assert strange.status_code == missing.status_code == 404
    assert strange.content == missing.content
    assert b"secrets" not in strange.content


def test_an_operator_who_is_no_member_gets_no_page(operator_client, workspace, guide):
    assert operator_client.get("/w/handbook/search?q=deploy").status_code == 404
    assert operator_client.get(document_page(workspace, guide)).status_code == 404


def test_a_document_of_another_workspace_is_not_found_through_ones_own(visitor, workspace, other_workspace):
    document = shelve(other_workspace, "board.md", "board minutes")
    foreign = visitor.get(document_page(workspace, document))
    missing = visitor.get(f"/w/handbook/documents/{'0' * 32}")

    assert foreign.status_code == missing.status_code == 404
    assert foreign.content == missing.content


@pytest.mark.parametrize("slug", ["a%00b", "A", "x" * 300, "..%2F..", "%F0%9F%A5%99"])
def test_a_slug_that_no_workspace_could_have_is_not_found(visitor, slug):
    assert visitor.get(f"/w/{slug}/search").status_code == 404


def test_a_member_whose_membership_ended_gets_no_page(visitor, workspace, member):
    Membership.objects.filter(user=member).delete()

    assert visitor.get("/w/handbook/search").status_code == 404


def test_a_workspace_answers_to_its_id_too(visitor, workspace):
    assert visitor.get(f"/w/{workspace.pk}/search").status_code == 200


def test_pages_are_kept_by_no_cache(visitor, workspace, guide):
    for page in ["/w/handbook/search?q=deploy", document_page(workspace, guide)]:
        assert "no-store" in visitor.get(page)["Cache-Control"]


def test_pages_are_only_read(visitor, workspace, guide):
    assert visitor.post("/w/handbook/search", {"q": "deploy"}).status_code == 405
    assert visitor.delete(document_page(workspace, guide)).status_code == 405


_ACTS = [route for route in routes() if route.pattern.startswith("w/") and route.methods == ("post",)]
_ID = "4ec3c1a6-0c5e-4f0a-9f0b-3d0f6a1f8a11"


@pytest.mark.parametrize("act", _ACTS, ids=lambda route: route.name)
def test_who_only_looks_at_an_acts_address_is_led_to_the_page_it_belongs_to(visitor, act):
    numbers = {"user_id": "1", "entry_id": "1", "n": "1"}
    arguments = {name: numbers.get(name, _ID) for name in act.arguments} | {"slug": "handbook"}
    path = act.path(arguments)
    page = visitor.get(path + "?cursor=x")["Location"]

    assert page.endswith("?cursor=x")
    assert path.startswith(page.partition("?")[0] + "/")
    assert {"get", "head"} <= set(resolve(page.partition("?")[0]).func.view_class.http_method_names)


def test_an_outage_is_told_on_a_page(visitor, monkeypatch):
    def fail(*_):
        raise OperationalError("connection refused")

    monkeypatch.setattr("kebab.pages.page.access_of", fail)
    response = visitor.get("/w/handbook/search?q=deploy")

    assert response.status_code == 503
    assert response["Retry-After"] == "5"
    assert "The database can&#x27;t be reached" in response.content.decode()


def test_an_outage_that_is_met_before_any_page_says_when_to_come_again(visitor, monkeypatch):
    def fail(*_):
        raise OperationalError("connection refused")

    monkeypatch.setattr("kebab.people.sessions.SessionStore.load", fail)
    visitor.raise_request_exception = False
    response = visitor.get("/w/handbook/search?q=deploy")

    assert response.status_code == 503
    assert response["Retry-After"] == "5"


def test_a_form_without_its_token_is_told_kindly(db):
    response = Client(enforce_csrf_checks=True).post("/login", {"username": "a@b.c", "password": "x"})

    assert response.status_code == 403
    assert "This form is out of date" in response.content.decode()


def test_two_members_share_a_workspace_and_nothing_else(client, workspace, guide):
    client.force_login(make_member(workspace, "bob@example.org"))

    assert "Deploy guide" in client.get("/w/handbook/search?q=deploy").content.decode()
