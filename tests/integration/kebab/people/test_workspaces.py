import pytest
from django.db import connection
from rest_framework.exceptions import ValidationError

from kebab.identity.models import AuditEvent, Membership, Role, Workspace
from kebab.people import audit, workspaces
from kebab.people.api.workspaces import PreferencesField
from kebab.people.operator import command_line_access, command_line_caller
from kebab.people.workspace_settings.registry import Preference, preference
from kebab.people.workspaces import create_workspace
from tests.support.actors import make_person, make_workspace, member_client, person_client, token_client
from tests.support.extensions import set_contributions

WORKSPACES = "/api/v1/workspaces"
_ID = "5f0c2a9e-7f6b-4f0e-9d39-0f6a2f6f2c11"


@pytest.fixture
def theme_and_size(monkeypatch):
    """Replace the workspace settings by two of the test's own."""

    def one_of_two(value):
        if value not in ("light", "dark"):
            raise ValueError(f"{value!r} is no theme; give light or dark.")
        return value

    theme = Preference(name="theme", default="light", validate=one_of_two, label="Theme", about="Two.")
    size = Preference(name="size", default=10, validate=int, label="Size", about="Any.")
    set_contributions(monkeypatch, preferences=(theme, size))


def path(workspace):
    return f"{WORKSPACES}/{workspace.slug}"


def create(client, slug, **fields):
    return client.post(WORKSPACES, {"slug": slug, **fields}, format="json")


def change(client, workspace, **fields):
    return client.patch(path(workspace), fields, format="json")


def test_creator_of_a_workspace_owns_it(db):
    user = make_person()
    response = create(person_client(user), "docs", name="Docs")
    assert response.status_code == 201
    body = response.json()
    assert (body["slug"], body["name"], body["role"], body["seq"]) == ("docs", "Docs", "owner", 0)
    assert response.headers["Location"].endswith("/api/v1/workspaces/docs")
    assert Membership.objects.get(user=user).role == Role.OWNER
    assert AuditEvent.objects.get().action == "workspace.created"


def test_token_taken_slug_and_malformed_slug_create_no_workspace(workspace, subtests):
    assert create(token_client(workspace, "manage"), "docs").status_code == 403
    client = person_client(make_person())
    taken = create(client, workspace.slug)
    assert (taken.status_code, taken.json()["code"]) == (409, "slug_taken")
    for slug in ("A", "-a", "a_b", "a/b", "a" * 64, _ID, _ID.replace("-", "")):
        with subtests.test(slug=slug):
            assert create(client, slug).status_code == 400
    assert Workspace.objects.count() == 1


def test_caller_lists_just_their_own_workspaces_page_by_page(db, other_workspace):
    user = make_person()
    client = person_client(user)
    for slug in ("b", "c", "a"):
        Membership.objects.create(workspace=make_workspace(slug), user=user, role=Role.EDITOR)
    first = client.get(f"{WORKSPACES}?limit=2").json()
    second = client.get(f"{WORKSPACES}?limit=2&cursor={first['next_cursor']}").json()
    assert [row["slug"] for row in first["results"] + second["results"]] == ["a", "b", "c"]
    assert {row["role"] for row in first["results"]} == {"editor"}
    assert second["next_cursor"] is None

    body = token_client(other_workspace, "search").get(WORKSPACES).json()
    assert [(row["slug"], row["role"]) for row in body["results"]] == [(other_workspace.slug, None)]


def test_admin_and_managing_token_may_change_name_and_slug_and_an_editor_may_not(workspace):
    assert change(member_client(workspace, Role.EDITOR), workspace, name="New").status_code == 403
    response = change(member_client(workspace, Role.ADMIN), workspace, name="New", slug="new-slug")
    body = response.json()
    assert (response.status_code, body["slug"], body["name"]) == (200, "new-slug", "New")
    workspace.refresh_from_db()
    response = change(token_client(workspace, "manage"), workspace, name="Newer")
    body = response.json()
    assert (response.status_code, body["slug"], body["name"]) == (200, "new-slug", "Newer")
    assert AuditEvent.objects.filter(action="workspace.changed").count() == 2


def test_settings_are_merged_reset_by_null_and_refused_by_name(workspace, theme_and_size):
    client = member_client(workspace, Role.ADMIN)

    def settings_after(**settings):
        return change(client, workspace, settings=settings).json()["settings"]

    assert settings_after(theme="dark") == {"theme": "dark", "size": 10}
    assert settings_after(size=20) == {"theme": "dark", "size": 20}
    assert settings_after(theme=None) == {"theme": "light", "size": 20}
    for settings, field in (({"theem": "dark"}, "settings.theem"), ({"theme": "pink"}, "settings.theme")):
        response = change(client, workspace, settings=settings)
        assert (response.status_code, response.json()["errors"][0]["field"]) == (400, field)
    workspace.refresh_from_db()
    assert workspace.settings == {"size": 20}
    assert preference(workspace, "theme") == "light"


def test_many_unknown_settings_are_answered_with_twenty_errors():
    with pytest.raises(ValidationError) as refused:
        PreferencesField().run_validation({f"unknown-{number}": 1 for number in range(100)})
    assert len(refused.value.detail) == 20


def test_deletion_may_take_longer_than_the_limit_of_statements(transactional_db, monkeypatch):
    workspace = make_workspace()
    with connection.cursor() as cursor:
        set_contributions(monkeypatch, deletion_hooks=(lambda gone: cursor.execute("SELECT pg_sleep(0.3)"),))
        cursor.execute("SET statement_timeout = '200ms'")
        try:
            workspaces.delete_workspace(command_line_access(workspace))
            cursor.execute("SHOW statement_timeout")
            assert cursor.fetchone() == ("200ms",)
        finally:
            cursor.execute("RESET statement_timeout")
    assert not Workspace.objects.filter(pk=workspace.pk).exists()


def test_only_an_owner_deletes_a_workspace_and_by_the_registered_hooks(
    workspace, other_workspace, monkeypatch
):
    seen = []
    names = ("first", "second")
    hooks = tuple(lambda gone, name=name: seen.append((name, gone.slug)) for name in names)
    set_contributions(monkeypatch, deletion_hooks=hooks)
    for role in (Role.ADMIN, Role.EDITOR, Role.VIEWER):
        assert member_client(workspace, role).delete(path(workspace)).status_code == 403
    assert token_client(workspace, "manage").delete(path(workspace)).status_code == 403
    assert seen == []

    assert member_client(workspace, Role.OWNER).delete(path(workspace)).status_code == 204
    assert seen == [("second", workspace.slug), ("first", workspace.slug)]
    assert list(Workspace.objects.all()) == [other_workspace]
    event = AuditEvent.objects.get(action="workspace.deleted")
    assert event.workspace_id == workspace.pk
    assert str(workspace.pk) in event.subject


def test_failing_hook_or_audit_leaves_workspaces_as_they_were(workspace, monkeypatch):
    def fail(*_, **__):
        raise OSError("no")

    set_contributions(monkeypatch, deletion_hooks=(fail,))
    assert member_client(workspace, Role.OWNER).delete(path(workspace)).status_code >= 500
    monkeypatch.setattr(audit, "record_person", fail)
    with pytest.raises(OSError, match="no"):
        create_workspace(command_line_caller(), "docs")
    assert Workspace.objects.get() == workspace
    assert not AuditEvent.objects.exists()


def test_change_is_recorded_with_the_values_before_and_an_empty_one_is_not(workspace, theme_and_size):
    admin, slug = member_client(workspace, Role.ADMIN), workspace.slug
    for body in ({}, {"name": workspace.name, "slug": slug, "settings": {"theme": None}}):
        assert change(admin, workspace, **body).status_code == 200
    assert not AuditEvent.objects.exists()
    change(admin, workspace, name="New", settings={"theme": "dark"})
    event = AuditEvent.objects.get()
    assert (event.action, event.subject) == ("workspace.changed", slug)
    assert event.detail == {
        "id": str(workspace.pk),
        "values": [
            {"field": "name", "before": workspace.name, "after": "New"},
            {"field": "settings.theme", "before": None, "after": "dark"},
        ],
    }
