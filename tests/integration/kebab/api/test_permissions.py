import pytest
from django.core.exceptions import ImproperlyConfigured
from django.urls import get_resolver
from rest_framework.test import APIClient

from kebab.http.api.views import WorkspaceView
from kebab.identity.caller import access_of_request
from kebab.identity.models import Role, TokenScope
from kebab.identity.tokens import mint_token
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


def status_and_code(response):
    return response.status_code, response.json()["code"]


def test_workspace_is_found_by_slug_and_by_id_and_by_no_name_that_none_can_have(workspace):
    for client in (token_client(workspace, "search"), member_client(workspace)):
        assert client.get(notes(workspace)).status_code == 200
        assert client.get(f"/api/v1/workspaces/{workspace.pk}/notes").status_code == 200
        for name in ("%00", "a%20b", "A", "-", "%FF", "x" * 500):
            assert client.get(f"/api/v1/workspaces/{name}/notes").status_code == 404, name


def test_foreign_workspace_looks_like_a_missing_one(workspace, other_workspace):
    for client in (token_client(other_workspace, *TokenScope), member_client(other_workspace, Role.OWNER)):
        foreign = client.get(notes(workspace))
        missing = client.get("/api/v1/workspaces/no-such-space/notes")
        assert foreign.status_code == missing.status_code == 404
        assert foreign.content == missing.content
        counted = {"RateLimit-Remaining": foreign.headers["RateLimit-Remaining"]}
        assert dict(foreign.headers) == dict(missing.headers) | counted


def test_access_takes_one_query_for_a_member_and_none_for_a_token(workspace, rf, django_assert_num_queries):
    request = rf.get("/")
    request.user = make_member(workspace)
    with django_assert_num_queries(1):
        access_of_request(request, workspace.slug)
    request.auth = mint_token(workspace, scopes=["search"])[0]
    with django_assert_num_queries(0):
        access_of_request(request, str(workspace.pk))


def test_missing_or_wrong_credentials_are_401(workspace):
    for path in (notes(workspace), "/api/v1/workspaces/no-such-space/notes", "/api/v1/workspaces"):
        response = APIClient().get(path)
        assert status_and_code(response) == (401, "not_authenticated")
        assert response.headers["WWW-Authenticate"].startswith("Bearer")
    for presented in ("", "x", "kbb_aaaaaaaaaaaa_" + "A" * 43, "kbb_\xff_x"):
        assert status_and_code(bearer_client(presented).get(notes(workspace))) == (401, "invalid_token")


def test_missing_scope_or_role_is_403_and_named(workspace):
    for client, lacks in (
        (token_client(workspace, "search"), "ingest"),
        (member_client(workspace), "Editor"),
    ):
        response = client.post(notes(workspace), {"text": "a"}, format="json")
        assert status_and_code(response) == (403, "forbidden")
        assert lacks in response.json()["detail"]


def test_token_without_scopes_may_do_nothing(workspace):
    client = token_client(workspace)
    for path in ("/api/v1/workspaces", f"/api/v1/workspaces/{workspace.slug}", notes(workspace)):
        assert client.get(path).status_code == 403


def test_head_needs_the_rights_of_get(workspace):
    assert token_client(workspace, "search").head(notes(workspace)).status_code == 200
    assert token_client(workspace, "ingest").head(notes(workspace)).status_code == 403


def test_superuser_is_not_a_member_of_workspaces(workspace):
    operator = make_person()
    operator.is_staff = operator.is_superuser = True
    operator.save()
    assert person_client(operator).get(notes(workspace)).status_code == 404


def test_session_needs_the_csrf_token_for_changes(workspace):
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(make_member(workspace, Role.EDITOR))
    response = client.post(notes(workspace), {"text": "a"}, format="json")
    assert status_and_code(response) == (403, "csrf_failed")
    assert client.get(notes(workspace)).status_code == 200


def test_bearer_token_takes_precedence_over_a_session(workspace, other_workspace):
    client = member_client(workspace, Role.OWNER)
    _, secret = mint_token(other_workspace, scopes=["search"])
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    assert client.get(notes(workspace)).status_code == 404
    assert client.get(notes(other_workspace)).status_code == 200


def test_view_with_a_method_that_names_no_rights_cannot_be_served():
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
def test_every_address_below_a_workspace_asks_for_rights(table):
    served = workspace_views(get_resolver(table).url_patterns)
    below = [view for pattern, view in served if "workspaces/<" in str(pattern.pattern)]
    assert len(below) >= 5
    assert all(issubclass(view, WorkspaceView) and view.required for view in below)
