"""Invitation requests, and the secrets in the mails that they send."""

from django.core import mail

PASSWORD = "a horse, a staple and 7 lamps"
ADDRESS = "ada@example.org"


def path(workspace, invitation_id=None):
    below = "" if invitation_id is None else f"/{invitation_id}"
    return f"/api/v1/workspaces/{workspace.slug}/invitations{below}"


def ask(client, workspace, /, **fields):
    return client.post(path(workspace), {"email": ADDRESS, "role": "viewer", **fields}, format="json")


def mailed_secret():
    return mail.outbox[-1].body.partition("/invitations/")[2].split()[0]
