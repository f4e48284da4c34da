"""Workspaces over HTTP."""

import pytest
from django.db import connection

from kebab.people import audit, deletion, preferences
from kebab.people.models import AuditEvent, Membership, Role, Workspace
from kebab.people.operator import operating_caller, the_operator
from kebab.people.preferences import preference, register_preference
from kebab.people.workspaces import create_workspace
from tests.support.actors import make_person, make_workspace, member_client, person_client, token_client

WORKSPACES = "/api/v1/workspaces"
_ID = "5f0c2a9e-7f6b-4f0e-9d39-0f6a2f6f2c11"


@pytest.fixture
def theme(monkeypatch):
    """A setting that exists for the length of a test."""
    monkeypatch.setattr(preferences, "_known", {})

    def one_of_two(value):
        if value not in ("light", "dark"):
            raise ValueError(f"{value!r} is no theme; give light or dark.")
        return value

    register_preference("theme", "light", one_of_two)


def path(workspace):
    return f"{WORKSPACES}/{workspace.slug}"


def test_whoever_creates_a_workspace_owns_it(db):
    user = make_person()
    response = person_client(user).post(WORKSPACES, {"slug": "docs", "name": "Docs"}, format="json")

    assert response.status_code == 201
    body = response.json()
    assert (body["slug"], body["name"], body["role"], body["seq"]) == ("docs", "Docs", "owner", 0)
    assert response.headers["Location"].endswith("/api/v1/workspaces/docs")
    assert Membership.objects.get(user=user).role == Role.OWNER
    assert AuditEvent.objects.get().action == "workspace.created"


def test_a_token_cannot_create_a_workspace(workspace):
    response = token_client(workspace, "manage").post(WORKSPACES, {"slug": "docs"}, format="json")

    assert response.status_code == 403


def test_a_taken_slug_is_a_conflict(workspace):
    client = person_client(make_person())
    response = client.post(WORKSPACES, {"slug": workspace.slug}, format="json")

    assert (response.status_code, response.json()["code"]) == (409, "slug_taken")
    assert Workspace.objects.count() == 1


@pytest.mark.parametrize("slug", ["A", "-a", "a_b", "a/b", "a" * 64, _ID, _ID.replace("-", "")])
def test_a_slug_that_is_malformed_or_reads_as_an_id_is_refused(db, slug):
    response = person_client(make_person()).post(WORKSPACES, {"slug": slug}, format="json")

    assert response.status_code == 400
    assert not Workspace.objects.exists()


def test_a_person_lists_just_their_own_workspaces_page_by_page(db, other_workspace):
    user = make_person()
    client = person_client(user)
    for slug in ("b", "c", "a"):
        Membership.objects.create(workspace=make_workspace(slug), user=user, role=Role.EDITOR)
    first = client.get(f"{WORKSPACES}?limit=2").json()
    second = client.get(f"{WORKSPACES}?limit=2&cursor={first['next_cursor']}").json()

    assert [row["slug"] for row in first["results"] + second["results"]] == ["a", "b", "c"]
    assert {row["role"] for row in first["results"]} == {"editor"}
    assert second["next_cursor"] is None


def test_a_token_lists_its_own_workspace(workspace, other_workspace):
    body = token_client(workspace, "search").get(WORKSPACES).json()

    assert [(row["slug"], row["role"]) for row in body["results"]] == [(workspace.slug, None)]


def test_a_workspace_takes_no_parameters(workspace):
    assert member_client(workspace).get(f"{path(workspace)}?x=1").status_code == 400


def test_an_admin_and_a_managing_token_may_change_name_and_slug(workspace):
    admin = member_client(workspace, Role.ADMIN)
    response = admin.patch(path(workspace), {"name": "New", "slug": "new-slug"}, format="json")
    assert (response.status_code, response.json()["slug"], response.json()["name"]) == (
        200,
        "new-slug",
        "New",
    )

    response = token_client(workspace, "manage").patch(
        f"{WORKSPACES}/new-slug", {"name": "Newer"}, format="json"
    )
    assert (response.status_code, response.json()["slug"], response.json()["name"]) == (
        200,
        "new-slug",
        "Newer",
    )
    assert AuditEvent.objects.filter(action="workspace.changed").count() == 2


def test_an_editor_may_not_change_a_workspace(workspace):
    client = member_client(workspace, Role.EDITOR)

    assert client.patch(path(workspace), {"name": "New"}, format="json").status_code == 403


def test_settings_are_validated_merged_and_set_back_by_null(workspace, theme):
    register_preference("size", 10, int)
    client = member_client(workspace, Role.ADMIN)

    def change(settings):
        return client.patch(path(workspace), {"settings": settings}, format="json")

    assert change({"theme": "dark"}).json()["settings"] == {"theme": "dark", "size": 10}
    assert change({"size": 20}).json()["settings"] == {"theme": "dark", "size": 20}
    assert change({"theme": None}).json()["settings"] == {"theme": "light", "size": 20}
    workspace.refresh_from_db()
    assert workspace.settings == {"size": 20}
    assert preference(workspace, "theme") == "light"


def test_an_unknown_setting_is_refused_and_the_known_ones_are_named(workspace, theme):
    client = member_client(workspace, Role.ADMIN)
    response = client.patch(path(workspace), {"settings": {"theem": "dark"}}, format="json")

    assert response.status_code == 400
    assert response.json()["errors"][0]["field"] == "settings.theem"
    assert "theme" in response.json()["errors"][0]["message"]


def test_a_settings_value_that_is_wrong_is_refused_with_the_remedy(workspace, theme):
    client = member_client(workspace, Role.ADMIN)
    response = client.patch(path(workspace), {"settings": {"theme": "pink"}}, format="json")

    assert response.status_code == 400
    assert "light or dark" in response.json()["errors"][0]["message"]
    workspace.refresh_from_db()
    assert workspace.settings == {}


def test_a_deletion_takes_longer_than_the_limit_of_statements(transactional_db, monkeypatch):
    workspace = make_workspace()
    with connection.cursor() as cursor:
        monkeypatch.setattr(deletion, "_hooks", [lambda gone: cursor.execute("SELECT pg_sleep(0.3)")])
        cursor.execute("SET statement_timeout = '200ms'")
        try:
            deletion.delete_workspace(the_operator(workspace))
            cursor.execute("SHOW statement_timeout")
            assert cursor.fetchone() == ("200ms",)
        finally:
            cursor.execute("RESET statement_timeout")
    assert not Workspace.objects.filter(pk=workspace.pk).exists()


def test_an_owner_deletes_a_workspace_through_the_registered_hooks(workspace, other_workspace, monkeypatch):
    seen = []
    monkeypatch.setattr(deletion, "_hooks", [])
    deletion.register(lambda gone: seen.append(("first", gone.slug)))
    deletion.register(lambda gone: seen.append(("second", gone.slug)))
    response = member_client(workspace, Role.OWNER).delete(path(workspace))

    assert response.status_code == 204
    assert seen == [("second", workspace.slug), ("first", workspace.slug)]
    assert list(Workspace.objects.all()) == [other_workspace]
    event = AuditEvent.objects.get(action="workspace.deleted")
    assert event.workspace_id == workspace.pk
    assert str(workspace.pk) in event.subject


def test_a_hook_that_fails_leaves_the_workspace_as_it_was(workspace, monkeypatch):
    def fail(gone):
        raise RuntimeError("no")

    monkeypatch.setattr(deletion, "_hooks", [fail])

    assert member_client(workspace, Role.OWNER).delete(path(workspace)).status_code == 500
    assert Workspace.objects.exists()
    assert not AuditEvent.objects.exists()


@pytest.mark.parametrize("role", [Role.ADMIN, Role.EDITOR, Role.VIEWER])
def test_only_an_owner_deletes_a_workspace(workspace, role):
    assert member_client(workspace, role).delete(path(workspace)).status_code == 403
    assert token_client(workspace, "manage").delete(path(workspace)).status_code == 403


def test_a_change_is_written_with_what_was_before_and_none_is_not_written(workspace, theme):
    admin, slug = member_client(workspace, Role.ADMIN), workspace.slug
    for body in ({}, {"name": workspace.name, "slug": slug, "settings": {"theme": None}}):
        assert admin.patch(path(workspace), body, format="json").status_code == 200
    assert not AuditEvent.objects.exists()
    admin.patch(path(workspace), {"name": "New", "settings": {"theme": "dark"}}, format="json")

    event = AuditEvent.objects.get()
    assert (event.action, event.subject) == ("workspace.changed", slug)
    assert event.detail == {
        "id": str(workspace.pk),
        "values": [
            {"field": "name", "before": workspace.name, "after": "New"},
            {"field": "settings.theme", "before": None, "after": "dark"},
        ],
    }


def test_a_workspace_that_could_not_be_written_down_is_not_made(db, monkeypatch):
    def fail(*_, **__):
        raise OSError("no audit")

    monkeypatch.setattr(audit, "record_person", fail)
    with pytest.raises(OSError, match="no audit"):
        create_workspace(operating_caller(), "docs")

    assert not Workspace.objects.exists()
