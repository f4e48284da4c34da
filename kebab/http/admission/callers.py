"""Names of callers, under which requests share the threads, places and buffers of a process.

A credential counts once a view has verified it in this process: made-up tokens have no share of their own.
A view records whom it has found in its request, and the door reads that after the response. A name that is
out of date gives no rights, only a place in a queue.
"""

import hashlib
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final

from asgiref.typing import HTTPScope
from django.conf import settings

from kebab.http.rate_limits.client_address import network_of_client
from kebab.identity.request_record import CALLER, WORKSPACE
from kebab.uuids import parse_uuid

_REMEMBERED: Final = 10_000
_REMEMBERED_S: Final = 600.0

_IN_WORKSPACE = re.compile(r"\A/(?:api/v1/workspaces|w)/([^/]+)")
_WITH_TOKENS = ("/api/", "/mcp")
_LOG_IN = re.compile(r"\A/(?:login|logout|password|invitations?|oauth)(?:/|\Z)")
_BEARER = re.compile(rb"\A\s*bearer\s+(\S+)\s*\Z", re.IGNORECASE)
_SEPARATORS: Mapping[bytes, bytes] = {b"authorization": b",", b"cookie": b"; ", b"x-forwarded-for": b","}


class Callers:
    """The callers whose credentials this process has verified lately. Use it in one event loop only."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # By credential and workspace of the path, "" for the caller itself: the name, and when it expires.
        self._names: OrderedDict[tuple[bytes, str], tuple[str, float]] = OrderedDict()

    def name_of(self, scope: HTTPScope) -> str:
        """Return the name for a request: a workspace's id, a known caller's name, or a network address.

        Pages to log in have a name of their own at each address.
        """
        headers = _headers_of(scope)
        credential = _credential_of(scope["path"], headers)
        if credential is not None and (own := self._find(credential, "")):
            return self._find(credential, _workspace_in(scope["path"])) or own
        forwarded = headers.get(b"x-forwarded-for")
        client = scope.get("client") or ("", 0)
        network = network_of_client(client[0], None if forwarded is None else forwarded.decode("latin-1"))
        return f"log in {network}" if _LOG_IN.match(scope["path"]) else network

    def learn(self, scope: HTTPScope, record: Mapping[str, Any], status: int = 0) -> None:
        """Remember whom a view has recorded in `record`; forget a credential that was refused with 401."""
        name = record.get(CALLER)
        if name is None and status != 401:
            return
        credential = _credential_of(scope["path"], _headers_of(scope))
        if credential is None:
            return
        if name is None:
            self._names.pop((credential, ""), None)
            return
        self._remember((credential, ""), name)
        if WORKSPACE in record:
            self._remember((credential, _workspace_in(scope["path"])), record[WORKSPACE])

    def _find(self, credential: bytes, workspace: str) -> str:
        name, until = self._names.get((credential, workspace), ("", 0.0))
        return name if until > self._clock() else ""

    def _remember(self, key: tuple[bytes, str], name: str) -> None:
        self._names[key] = name, self._clock() + _REMEMBERED_S
        self._names.move_to_end(key)
        if len(self._names) > _REMEMBERED:
            self._names.popitem(last=False)


def _headers_of(scope: HTTPScope) -> dict[bytes, bytes]:
    """Return the headers that name a caller; those sent twice are joined as for a view."""
    found: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in _SEPARATORS:
            found[name] = found[name] + _SEPARATORS[name] + value if name in found else value
    return found


def _credential_of(path: str, headers: Mapping[bytes, bytes]) -> bytes | None:
    """Return the digest of the credential that a view of this path verifies; None without one.

    It is the same for all spellings, so that one credential can't fill the memory.
    """
    if b"authorization" in headers and path.startswith(_WITH_TOKENS):
        bearer = _BEARER.match(headers[b"authorization"])
        return None if bearer is None else hashlib.sha256(bearer[1]).digest()
    session = _session_in(headers.get(b"cookie", b""))
    return None if session is None else hashlib.sha256(session).digest()


def _session_in(cookies: bytes) -> bytes | None:
    name = settings.SESSION_COOKIE_NAME.encode() + b"="
    before, found, after = cookies.partition(name)
    if not found or name in after or before.rstrip()[-1:] not in {b"", b";"}:
        return None
    key = after.partition(b";")[0].strip()
    return key if key.isalnum() else None


def _workspace_in(path: str) -> str:
    """Return the workspace in a path, "" without one; all spellings of its id are the same."""
    found = _IN_WORKSPACE.match(path)
    if found is None:
        return ""
    id_ = parse_uuid(found[1])
    return found[1] if id_ is None else str(id_)
