"""Who may do what, and what the others are told."""

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.urls import get_resolver
from rest_framework.test import APIClient

from kebab.api.views import WorkspaceView
from kebab.people.access import access_of
from kebab.people.models import Membership, Role, Scope
from kebab.people.tokens import mint_token
from tests.support.actors import (
    bearer_client,
    make_member,
    make_person,
    member_client,
    person_client,
    token_client,
)


def notes(workspace):
    return f"/api/v1/workspaces/{workspace.slug}/notes"


def test_a_workspace_is_found_by_slug_and_by_id(workspace):
    for client in (token_client(workspace, "search"), member_client(workspace)):
        assert client.get(notes(workspace)).status_code == 200
        assert client.get(f"/api/v1/workspaces/{workspace.pk}/notes").status_code == 200


def test_another_workspaces_token_sees_what_a_missing_workspace_shows(workspace, other_workspace):
    client = token_client(other_workspace, *Scope)
    foreign = client.get(notes(workspace))
    missing = client.get("/api/v1/workspaces/no-such-space/notes")

    assert foreign.status_code == missing.status_code == 404
    assert foreign.content == missing.content
    assert foreign.headers == missing.headers


def test_a_person_who_is_no_member_sees_what_a_missing_workspace_shows(workspace, other_workspace):
    client = member_client(other_workspace, Role.OWNER)
    foreign = client.get(notes(workspace))
    missing = client.get("/api/v1/workspaces/no-such-space/notes")

    assert foreign.status_code == missing.status_code == 404
    assert foreign.content == missing.content


@pytest.mark.parametrize("name", ["%00", "a%20b", "A", "-", "%FF", "x" * 500])
def test_a_name_that_no_workspace_can_have_is_just_missing(workspace, name):
    for client in (token_client(workspace, "search"), member_client(workspace)):
        assert client.get(f"/api/v1/workspaces/{name}/notes").status_code == 404


def test_access_takes_one_query_for_a_member_and_none_for_a_token(workspace, rf, django_assert_num_queries):
    request = rf.get("/")
    request.user = make_member(workspace)
    with django_assert_num_queries(1):
        access_of(request, workspace.slug)
    request.auth = mint_token(workspace, scopes=["search"])[0]
    with django_assert_num_queries(0):
        access_of(request, str(workspace.pk))


def test_without_credentials_it_is_401_and_says_how_to_sign_in(workspace):
    for path in (notes(workspace), "/api/v1/workspaces/no-such-space/notes", "/api/v1/workspaces"):
        response = APIClient().get(path)
        assert (response.status_code, response.json()["code"]) == (401, "not_authenticated")
        assert response.headers["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize("presented", ["", "x", "kbb_aaaaaaaaaaaa_" + "A" * 43, "kbb_\xff_x"])
def test_a_token_that_is_none_is_401(workspace, presented):
    response = bearer_client(presented).get(notes(workspace))

    assert (response.status_code, response.json()["code"]) == (401, "invalid_token")


def test_a_token_lacking_the_scope_is_told_which(workspace):
    response = token_client(workspace, "search").post(notes(workspace), {"text": "a"}, format="json")

    assert (response.status_code, response.json()["code"]) == (403, "forbidden")
    assert "ingest" in response.json()["detail"]


def test_a_token_without_scopes_may_do_nothing(workspace):
    client = token_client(workspace)

    for path in ("/api/v1/workspaces", f"/api/v1/workspaces/{workspace.slug}", notes(workspace)):
        assert client.get(path).status_code == 403


def test_a_member_lacking_the_role_is_told_which(workspace):
    response = member_client(workspace).post(notes(workspace), {"text": "a"}, format="json")

    assert (response.status_code, response.json()["code"]) == (403, "forbidden")
    assert "editor" in response.json()["detail"]


def test_a_right_that_is_taken_away_ends_with_the_next_request(workspace):
    user = make_member(workspace)
    client = person_client(user)
    assert client.get(notes(workspace)).status_code == 200

    Membership.objects.filter(user=user).delete()

    assert client.get(notes(workspace)).status_code == 404


def test_an_operator_is_no_member_of_every_workspace(workspace):
    operator = make_person()
    operator.is_staff = operator.is_superuser = True
    operator.save()

    assert person_client(operator).get(notes(workspace)).status_code == 404


def test_a_session_needs_the_csrf_token_for_what_changes_things(workspace):
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(make_member(workspace, Role.EDITOR))
    response = client.post(notes(workspace), {"text": "a"}, format="json")

    assert (response.status_code, response.json()["code"]) == (403, "csrf_failed")
    assert client.get(notes(workspace)).status_code == 200


def test_a_token_beside_a_session_is_what_counts(workspace, other_workspace):
    client = member_client(workspace, Role.OWNER)
    _, secret = mint_token(other_workspace, scopes=["search"])
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")

    assert client.get(notes(workspace)).status_code == 404
    assert client.get(notes(other_workspace)).status_code == 200


def test_a_view_that_forgets_what_a_method_needs_cannot_be_served():
    class Forgetful(WorkspaceView):
        def get(self, request, ws):
            raise NotImplementedError

    with pytest.raises(ImproperlyConfigured, match="Forgetful"):
        Forgetful.as_view()


def workspace_views(patterns):
    for pattern in patterns:
        if hasattr(pattern, "url_patterns"):
            yield from workspace_views(pattern.url_patterns)
        elif isinstance(getattr(pattern.callback, "cls", None), type):
            yield pattern, pattern.callback.cls


@pytest.mark.parametrize("table", ["tests.support.urlconf", "kebab.urls"])
def test_every_address_below_a_workspace_resolves_it_and_asks_for_rights(table):
    served = workspace_views(get_resolver(table).url_patterns)
    below = [view for pattern, view in served if "workspaces/<" in str(pattern.pattern)]

    assert len(below) >= 5
    assert all(issubclass(view, WorkspaceView) and view.required for view in below)
