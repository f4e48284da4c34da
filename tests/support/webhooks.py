"""A receiver of webhooks over real sockets, which verifies signatures as Standard Webhooks has them."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kebab.identity.caller import Access, operator_access
from kebab.webhooks.endpoints import create_endpoint
from kebab.webhooks.models import Endpoint
from tests.support.http_stub import Exchange, Stub, running

LOCAL = frozenset({"127.0.0.1"})


class Receiver(Stub):
    """Answers each delivery with `status`, and keeps those that it accepted."""

    def __init__(self) -> None:
        super().__init__(lambda exchange: None, _Delivered)
        self.status = 204
        #: Of each request: its id and body.
        self.attempts: list[tuple[str, dict[str, Any]]] = []
        self._accepted: list[tuple[str, tuple[str, dict[str, Any]]]] = []
        self.secret = ""

    @property
    def url(self) -> str:
        """Return the address of the hook."""
        return f"http://127.0.0.1:{self.server_address[1]}/hook"

    def accepted_at(self, path: str) -> list[tuple[str, dict[str, Any]]]:
        """Return id and body of the events that were accepted at this path, in order of arrival."""
        return [event for at, event in self._accepted if at == path]

    @property
    def accepted(self) -> list[tuple[str, dict[str, Any]]]:
        """Return id and body of all events that were accepted."""
        return [event for _, event in self._accepted]

    @property
    def subjects(self) -> list[Any]:
        """Return the accepted events' data, in order of arrival."""
        return [body["data"] for _, body in self.accepted]

    def status_of(self, body: dict[str, Any]) -> int:
        """Return the status to answer this event with."""
        return self.status


class _Delivered(Exchange):
    server: Receiver

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        message_id, timestamp = self.headers["webhook-id"], self.headers["webhook-timestamp"]
        if self.server.secret:
            key = base64.b64decode(self.server.secret.removeprefix("whsec_"))
            signed = hmac.new(key, f"{message_id}.{timestamp}.".encode() + raw, hashlib.sha256).digest()
            expected = "v1," + base64.b64encode(signed).decode()
            assert self.headers["webhook-signature"] == expected
        event = (message_id, json.loads(raw))
        self.server.attempts.append(event)
        self.server.paths.append(self.path)
        status = self.server.status_of(event[1])
        if status < 300:
            self.server._accepted.append((self.path, event))
        self.reply(b"", status=status)


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Run a receiver during the block."""
    with running(Receiver()) as receiver:
        yield receiver


def make_endpoint(workspace: Any, url: str, *events: str, access: Access | None = None) -> Endpoint:
    """Return a new endpoint, created by an operator."""
    return create_endpoint(access or operator_access(workspace, "operator:test"), url=url, events=events)[0]
