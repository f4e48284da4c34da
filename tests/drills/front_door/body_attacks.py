"""Clients that don't end the bodies of their requests."""

from contextlib import ExitStack
from dataclasses import replace

from tests.drills.front_door.target import Attack, Target, connect_many, repeat, send

# Together they fill what two processes buffer to the last byte.
_SHORT_BODIES = ((430, 300_000), (40, 15_000), (40, 800), (40, 40))
_UPLOADS = 24
_UPLOAD_BYTES = 50_000_000


def unfinished_bodies(target: Target, stack: ExitStack) -> None:
    """Send 550 bodies but for their last byte, without a token."""
    anonymous = replace(target, token="")
    path = f"/api/v1/workspaces/{target.workspace}/search"
    for number, size in _SHORT_BODIES:
        for client in connect_many(number, anonymous, stack):
            send(client, anonymous.request(path, method="POST", body=b"x" * (size + 1))[:-1])


def dripping_uploads(target: Target, stack: ExitStack) -> None:
    """Upload 24 files of 50 MB, a byte every fifth of a second."""
    path = f"/api/v1/workspaces/{target.workspace}/documents/file"
    length = f"Content-Length: {_UPLOAD_BYTES}"
    kind = "Content-Type: multipart/form-data; boundary=end"
    clients = connect_many(_UPLOADS, target, stack)
    for client in clients:
        send(client, target.request(path, length, kind, method="POST") + b"x" * 10_000)
    repeat(stack, lambda: [send(client, b"x") for client in clients], 0.2)


BODY_ATTACKS: tuple[Attack, ...] = (unfinished_bodies, dripping_uploads)
