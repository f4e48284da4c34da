"""Accounts changed by operators: limits and audit."""

import io

import pytest
from django.contrib.auth.models import Permission
from django.core.management import CommandError, call_command
from django.test import Client

from kebab.admin.management.commands import changepassword
from kebab.identity.models import AuditEvent, Membership, Role, User
from kebab.people import audit
from tests.support.actors import make_member, make_person, make_workspace

PASSWORDS = {"password1": "correct horse 77", "password2": "correct horse 77", "usable_password": "true"}


@pytest.fixture
def clerk(db):
    """Return a staff member who may only change people."""
    return make_staff("people.view_user", "people.change_user")


@pytest.fixture
def desk(clerk):
    client = Client()
    client.force_login(clerk)
    return client


def make_staff(*permissions):
    person = make_person()
    person.is_staff = True
    person.save()
    names = [permission.partition(".")[2] for permission in permissions]
    person.user_permissions.set(Permission.objects.filter(codename__in=names))
    return person


def change(client, person, **fields):
    form = {"email": person.email, "display_name": person.display_name, "is_active": "on", **fields}
    return client.post(f"/admin/people/user/{person.pk}/change/", form)


def set_password(client, person):
    return client.post(f"/admin/people/user/{person.pk}/password/", PASSWORDS)


def test_account_is_added_by_address_and_audited(office):
    office.post("/admin/people/user/add/", {"email": "Bea@Example.org", **PASSWORDS})
    bea, event = User.objects.get(email="bea@example.org"), AuditEvent.objects.get()

    assert bea.check_password("correct horse 77")
    assert (event.actor, event.action, event.subject) == ("root@example.org", "user.added", bea.email)
    assert event.detail == {"via": "admin", "id": str(bea.pk)}


def test_form_without_its_token_changes_nothing(operator):
    ada, client = make_person("ada@example.org"), Client(enforce_csrf_checks=True)
    client.force_login(operator)

    assert change(client, ada, email="mine@example.org").status_code == 403
    assert User.objects.get(pk=ada.pk).email == "ada@example.org"


def test_form_that_changes_nothing_is_not_audited(office):
    assert change(office, make_person("ada@example.org")).status_code == 302
    assert not AuditEvent.objects.exists()


def test_staff_change_their_own_account_and_those_without_rights_alone(desk, clerk, operator, office):
    ada, powerful = make_person("ada@example.org"), make_staff("people.delete_membership")
    assert change(desk, ada, email="ada@example.com").status_code == 302
    assert set_password(desk, ada).status_code == 302
    assert change(desk, clerk, display_name="Clerk").status_code == 302
    assert User.objects.get(pk=ada.pk).email == "ada@example.com"
    assert User.objects.get(pk=ada.pk).check_password("correct horse 77")

    for other in (powerful, operator):
        assert change(desk, other, email="mine@example.org").status_code == 403
        assert set_password(desk, other).status_code == 403
        other.refresh_from_db()
        assert other.email != "mine@example.org"
        assert not other.check_password("correct horse 77")
    assert change(office, powerful, is_staff="on", email="other@example.org").status_code == 302
    assert set_password(office, powerful).status_code == 302


def test_changed_rights_are_audited_with_values_before_and_after(office):
    ada = make_person("ada@example.org")
    ada.display_name = "root@example.org"  # people choose what they are called
    ada.save()
    may_see = Permission.objects.get(codename="view_job")
    change(office, ada, is_staff="on", is_superuser="on", user_permissions=[may_see.pk])
    event = AuditEvent.objects.get(action="user.changed")

    assert (event.actor, event.subject, event.detail["id"]) == (
        "root@example.org",
        "ada@example.org",
        str(ada.pk),
    )
    assert event.detail["values"] == [
        {"field": "is_staff", "before": False, "after": True},
        {"field": "is_superuser", "before": False, "after": True},
        {"field": "user_permissions", "before": [], "after": [str(may_see)]},
    ]


def test_changed_email_and_deactivation_are_audited_with_values_before_and_after(office):
    ada = make_person("ada@example.org")
    office.post(f"/admin/people/user/{ada.pk}/change/", {"email": "Bea@example.org"})
    event = AuditEvent.objects.get(action="user.changed")

    assert event.subject == "bea@example.org"
    assert event.detail["values"] == [
        {"field": "email", "before": "ada@example.org", "after": "bea@example.org"},
        {"field": "is_active", "before": True, "after": False},
    ]


def test_password_set_in_the_admin_is_audited_without_its_value(office, monkeypatch):
    ada = make_person("ada@example.org")
    with monkeypatch.context() as patch:
        patch.setattr(audit, "record_person", _fail)
        with pytest.raises(OSError, match="no audit"):
            set_password(office, ada)
    assert not User.objects.get(pk=ada.pk).check_password("correct horse 77")

    set_password(office, ada)
    event = AuditEvent.objects.get(action="user.changed")
    assert (event.subject, event.detail["fields"]) == ("ada@example.org", ["password"])
    assert event.detail["values"] == []
    assert "correct horse" not in str(event.detail)


def test_changepassword_command_is_audited(db, monkeypatch):
    ada = make_person("ada@example.org")
    monkeypatch.setattr(changepassword.Command, "_get_pass", lambda *_, **__: "short")
    for email in ("ada@example.org", "nobody@example.org"):
        with pytest.raises(CommandError):
            call_command("changepassword", email, stdout=io.StringIO(), stderr=io.StringIO())
    assert not AuditEvent.objects.exists()

    monkeypatch.setattr(changepassword.Command, "_get_pass", lambda *_, **__: "correct horse 77")
    call_command("changepassword", "ada@example.org", stdout=io.StringIO())
    event = AuditEvent.objects.get()
    assert User.objects.get(pk=ada.pk).check_password("correct horse 77")
    assert (event.actor, event.action, event.subject) == (
        audit.operator_actor(),
        "password.changed",
        ada.email,
    )
    assert event.detail == {"by": "operator", "id": str(ada.pk), "is_superuser": False}


def test_createsuperuser_command_is_audited(db, monkeypatch):
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", "correct horse 77")
    command = ("createsuperuser", "--noinput", "--email", "root@example.org")
    with monkeypatch.context() as patch:
        patch.setattr(audit, "record_person", _fail)
        with pytest.raises(OSError, match="no audit"):
            call_command(*command, stdout=io.StringIO())
    assert not User.objects.exists()

    call_command(*command, stdout=io.StringIO())
    user, event = User.objects.get(), AuditEvent.objects.get()
    assert (event.actor, event.action, event.subject) == (audit.operator_actor(), "user.added", user.email)
    assert event.detail == {"id": str(user.pk), "is_superuser": True}
    make_person()
    assert AuditEvent.objects.count() == 1


def _fail(*_, **__):
    raise OSError("no audit")


def test_deactivating_the_only_owner_of_a_workspace_is_warned_of(office):
    ada, shared, orphaned = make_person("ada@example.org"), make_workspace(), make_workspace()
    for workspace in (shared, orphaned):
        Membership.objects.create(workspace=workspace, user=ada, role=Role.OWNER)
    make_member(shared, Role.OWNER)
    answer = office.post(f"/admin/people/user/{ada.pk}/change/", {"email": ada.email}, follow=True)

    page = answer.content.decode()
    assert page.count(str(orphaned)) == 1
    assert str(shared) not in page
