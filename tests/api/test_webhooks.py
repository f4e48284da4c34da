"""`/workspaces/{ws}/webhooks` over HTTP."""

import pytest

from kebab.identity.models import AuditEvent, Role
from kebab.webhooks.delivery import deliver_due, mail_disabled
from kebab.webhooks.models import Delivery, Endpoint
from tests.support.actors import make_workspace, member_client, token_client
from tests.support.webhooks import LOCAL, receiving

NEW = {"url": "https://hooks.example.org/kebab", "events": ["job.failed", "document.indexed"]}


def address(workspace, *parts):
    return "/".join((f"/api/v1/workspaces/{workspace.slug}/webhooks", *map(str, parts)))


@pytest.fixture
def admin(workspace):
    return member_client(workspace, Role.ADMIN)


def test_webhook_is_created_shown_without_its_secret_changed_and_deleted(workspace, admin):
    made = admin.post(address(workspace), NEW, format="json")
    assert made.status_code == 201
    assert made.json()["secret"].startswith("whsec_")
    assert made.headers["Cache-Control"] == "no-store"
    one = address(workspace, made.json()["id"])
    shown = admin.get(one).json()
    assert shown["events"] == ["document.indexed", "job.failed"]
    assert "secret" not in shown and "sealed_secret" not in shown
    assert [row["id"] for row in admin.get(address(workspace)).json()["results"]] == [shown["id"]]

    changed = admin.patch(one, {"is_enabled": False, "description": "n8n"}, format="json").json()
    assert (changed["is_enabled"], changed["description"]) == (False, "n8n")
    assert admin.post(f"{one}/test").status_code == 409
    assert admin.delete(one).status_code == 204
    assert admin.get(one).status_code == 404 and not Endpoint.objects.exists()
    actions = AuditEvent.objects.filter(action__startswith="webhook.")
    assert {event.action for event in actions} == {"webhook.created", "webhook.changed", "webhook.deleted"}


@pytest.mark.parametrize(
    "change",
    [
        {"url": "http://hooks.example.org/"},
        {"url": "https://127.0.0.1/"},
        {"url": 7},
        {"events": []},
        {"events": ["document.read"]},
        {"events": "job.failed"},
        {"secret": "whsec_mine"},
        {"description": "x" * 201},
    ],
)
def test_invalid_field_is_refused_on_create_and_update(workspace, admin, change):
    made = admin.post(address(workspace), NEW, format="json").json()
    assert admin.post(address(workspace), NEW | change, format="json").status_code == 400
    assert admin.patch(address(workspace, made["id"]), change, format="json").status_code == 400


def test_only_workspace_admins_manage_webhooks(workspace, admin):
    one = address(workspace, admin.post(address(workspace), NEW, format="json").json()["id"])
    for lesser in (member_client(workspace, Role.EDITOR), token_client(workspace, "manage", "search")):
        assert lesser.get(one).status_code == 403
        assert lesser.post(address(workspace), NEW, format="json").status_code == 403
    assert member_client(make_workspace(), Role.OWNER).get(one).status_code == 404


def test_test_event_and_its_delivery_are_listed(workspace, admin, settings):
    settings.KEBAB_PRIVATE_HOSTS = LOCAL
    with receiving() as receiver:
        made = admin.post(address(workspace), NEW | {"url": receiver.url}, format="json").json()
        receiver.secret = made["secret"]
        one = address(workspace, made["id"])
        sent = admin.post(f"{one}/test")
        assert (sent.status_code, deliver_due()) == (202, 1)
    (row,) = admin.get(f"{one}/deliveries?state=delivered").json()["results"]
    assert (row["id"], row["type"], row["attempts"]) == (sent.json()["id"], "webhook.test", 1)
    assert receiver.accepted[0][0] == row["id"]
    assert admin.get(f"{one}/deliveries?state=failed").json()["results"] == []


def test_path_of_a_webhook_is_in_no_audit_event_log_or_mail(
    workspace, admin, settings, monkeypatch, mailoutbox, caplog
):
    settings.KEBAB_PRIVATE_HOSTS = LOCAL
    monkeypatch.setattr("kebab.webhooks.delivery.mail_is_delivered", lambda: True)
    member_client(workspace, Role.OWNER)  # who gets the mail
    with receiving() as receiver:
        made = admin.post(address(workspace), NEW | {"url": f"{receiver.url}/hush"}, format="json").json()
        one = address(workspace, made["id"])
        assert admin.patch(one, {"events": ["job.failed"]}, format="json").status_code == 200
        admin.post(f"{one}/test")
        receiver.status = 410
        assert deliver_due() == 0
    mail_disabled(Endpoint.objects.get(), "It answered 410.")
    assert admin.delete(one).status_code == 204

    events = AuditEvent.objects.filter(action__startswith="webhook.")
    assert {event.action.removeprefix("webhook.") for event in events} == {
        *("created", "changed", "disabled", "deleted")
    }
    assert {event.subject for event in events} == {receiver.url.removesuffix("/hook") + "/…"}
    assert {event.detail["id"] for event in events} == {made["id"]}
    assert "hush" not in str([event.detail for event in events]) + caplog.text + mailoutbox[0].body


def test_deleting_a_workspace_deletes_its_webhooks(workspace, admin):
    made = admin.post(address(workspace), NEW, format="json").json()
    admin.post(address(workspace, made["id"], "test"))
    assert Delivery.objects.exists()
    assert (
        member_client(workspace, Role.OWNER).delete(f"/api/v1/workspaces/{workspace.slug}").status_code == 204
    )
    assert not Endpoint.objects.exists() and not Delivery.objects.exists()
