from datetime import timedelta

import pytest
from django.db import ProgrammingError, transaction
from django.utils import timezone

from kebab.identity.models import AuditEvent, Role
from kebab.identity.models.audit import ImmutableAuditError
from kebab.people import audit
from kebab.people.audit import acting_from, record_person
from kebab.people.operator import command_line_access
from tests.support.actors import make_member, person_client


def path(workspace, query=""):
    return f"/api/v1/workspaces/{workspace.slug}/audit{query}"


def record(workspace, action="thing.done", **detail):
    audit.record(command_line_access(workspace), action, "it", **detail)
    return AuditEvent.objects.latest("at")


def test_admins_read_events_newest_first(admin, workspace, other_workspace):
    record(other_workspace)
    acts = [record(workspace, f"thing.{number}", number=number) for number in range(3)]
    rows = admin.get(path(workspace)).json()["results"]

    assert [row["id"] for row in rows] == [str(event.pk) for event in reversed(acts)]
    assert (rows[0]["actor"], rows[0]["detail"]) == (audit.operator_actor(), {"number": 2})
    assert rows[0]["address"] is None


def test_each_filter_narrows(admin, workspace):
    record(workspace, "group.created")
    record(workspace, "groupie.seen")
    record(workspace, "token.created")
    record_person("ada@example.org", "invitation.accepted", workspace=workspace)

    def actions(query):
        return sorted(row["action"] for row in admin.get(path(workspace, query)).json()["results"])

    assert actions("?action=group.") == ["group.created"]
    assert actions("?action=token.created") == ["token.created"]
    assert actions("?action=token") == []
    assert actions("?actor=ada@example.org") == ["invitation.accepted"]
    middle = AuditEvent.objects.order_by("at")[2].at.isoformat().replace("+00:00", "Z")
    assert actions(f"?since={middle}") == ["invitation.accepted", "token.created"]
    assert actions(f"?until={middle}") == ["group.created", "groupie.seen"]


def test_wrong_parameter_is_refused(admin, workspace):
    for query in ("?since=yesterday", "?actoor=a", "?limit=0", "?cursor=x", "?action=%00"):
        assert admin.get(path(workspace, query)).status_code == 400, query


def test_event_holds_the_address_of_the_request_and_its_time(workspace):
    with acting_from("192.0.2.7"):
        assert record(workspace).address == "192.0.2.7"
        with acting_from("fe80::1%eth0"):
            assert record(workspace).address == "fe80::1"
    event = record(workspace)
    assert event.address is None
    assert abs(event.at - timezone.now()) < timedelta(minutes=1)

    client = person_client(make_member(workspace, Role.OWNER))
    address = f"/api/v1/workspaces/{workspace.slug}/groups"
    client.post(address, {"name": "a"}, format="json", REMOTE_ADDR="192.0.2.9")
    assert AuditEvent.objects.get(action="group.created").address == "192.0.2.9"


def test_event_is_never_changed_or_deleted(workspace):
    event = record(workspace)
    event.subject = "another"
    for act in (
        event.save,
        event.delete,
        AuditEvent.objects.all().delete,
        lambda: AuditEvent.objects.update(actor="nobody"),
        lambda: AuditEvent.objects.bulk_update([event], ["subject"]),
    ):
        with pytest.raises(ImmutableAuditError), transaction.atomic():
            act()
    with pytest.raises(ProgrammingError), transaction.atomic():
        AuditEvent.objects.update_or_create(pk=event.pk, defaults={"subject": "x"})
    assert AuditEvent.objects.get().subject == "it"


def test_audit_event_without_a_workspace_is_hidden_and_events_outlive_their_workspace(admin, workspace):
    record_person("ada@example.org", "sign_in.failed")
    record_person("a" * 400, "sign_in.failed", "b" * 600)
    assert admin.get(path(workspace)).json()["results"] == []
    assert AuditEvent.objects.filter(workspace=None).count() == 2
    workspace_id, event = workspace.pk, record(workspace)
    workspace.delete()
    assert AuditEvent.objects.get(pk=event.pk).workspace_id == workspace_id
