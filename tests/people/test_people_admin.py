"""The Django admin, as an operator sees it."""

import pytest
from django.contrib import admin
from django.urls import include, path

from kebab.people.models import AuditEvent, User
from kebab.people.tokens import mint_token

urlpatterns = [path("admin/", admin.site.urls), path("", include("tests.api_plumbing.urlconf"))]


@pytest.fixture
def operator(client, settings, db):
    settings.ROOT_URLCONF = __name__
    client.force_login(User.objects.create_superuser("root@example.org"))
    return client


@pytest.mark.parametrize("model", ["user", "workspace", "apitoken", "auditevent"])
def test_every_list_can_be_opened_and_searched(operator, workspace, model):
    mint_token(workspace, scopes=["search"])

    assert operator.get(f"/admin/people/{model}/?q=a").status_code == 200


def test_a_person_is_added_by_address(operator):
    form = {"email": "Ada@Example.org", "password1": "correct horse 7", "password2": "correct horse 7"}
    response = operator.post("/admin/people/user/add/", form)

    assert response.status_code == 302
    assert User.objects.filter(email="ada@example.org").exists()


def test_a_token_is_shown_without_its_secret_and_cannot_be_changed(operator, workspace):
    token, secret = mint_token(workspace, scopes=["search"])
    page = operator.get(f"/admin/people/apitoken/{token.pk}/change/")

    assert page.status_code == 200
    assert secret not in page.content.decode()
    assert "sha256" not in page.content.decode()
    assert operator.get("/admin/people/apitoken/add/").status_code == 403
    assert operator.post(f"/admin/people/apitoken/{token.pk}/delete/", {"post": "yes"}).status_code == 403


def test_audit_events_cannot_be_changed(operator, workspace):
    event = AuditEvent.objects.create(workspace=workspace, actor="a", action="x")
    page = operator.get(f"/admin/people/auditevent/{event.pk}/change/")

    assert page.status_code == 200
    assert operator.post(f"/admin/people/auditevent/{event.pk}/change/", {"actor": "b"}).status_code == 403
    assert operator.post(f"/admin/people/auditevent/{event.pk}/delete/", {"post": "yes"}).status_code == 403


def test_a_workspace_is_not_deleted_here_because_files_go_with_it(operator, workspace):
    assert operator.get(f"/admin/people/workspace/{workspace.pk}/change/").status_code == 200
    assert (
        operator.post(f"/admin/people/workspace/{workspace.pk}/delete/", {"post": "yes"}).status_code == 403
    )
