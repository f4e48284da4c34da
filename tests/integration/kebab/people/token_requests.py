"""Requests about tokens."""


def path(workspace, token_id=None, tail=""):
    return f"/api/v1/workspaces/{workspace.slug}/tokens" + (f"/{token_id}{tail}" if token_id else "")


def make(client, workspace, /, headers=None, **fields):
    return client.post(path(workspace), {"scopes": ["search"], **fields}, format="json", headers=headers)


def rotate(client, workspace, token_id, /, headers=None, **fields):
    return client.post(path(workspace, token_id, "/rotate"), fields, format="json", headers=headers)
