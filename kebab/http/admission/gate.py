"""Gates that admit requests to an application within its capacity and refuse the rest.

Fields of a query string or of JSON are found by patterns: a regular expression takes one millisecond where
parsing takes forty.
"""

import hashlib
import io
import re
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, cast

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, ASGISendEvent, HTTPScope
from django.conf import settings

from kebab.http.admission.fair_queue import ClientGone, FairQueue, Overloaded, Usage
from kebab.http.admission.refusals import refuse
from kebab.http.admission.request_bodies import (
    BodyBudget,
    BodyRefused,
    BufferedBody,
    Spool,
    SpooledBody,
    is_short,
    largest_upload_bytes,
)
from kebab.http.admission.wsgi_bridge import (
    BufferedResponse,
    Environ,
    UnreceivedBody,
    WsgiThreads,
    build_environ,
)
from kebab.http.asgi_types import HttpApplication
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


def query_field_pattern(name: str) -> re.Pattern[bytes]:
    """Return a pattern that finds a field of this ASCII name in a query string, whatever its value."""
    return re.compile(rb"(?:\A|&)%s(?:[=&]|\Z)" % _spellings(name, b"%"))


def json_field_pattern(name: str) -> re.Pattern[bytes]:
    """Return a pattern that finds a field, named by letters and `_`, in JSON, with any value but null."""
    return re.compile(rb'"%s"\s*+:\s*+(?!null)' % _spellings(name, rb"\\u00"))


def _spellings(name: str, escape: bytes) -> bytes:
    return b"".join(rb"(?:%c|%s(?i:%02x))" % (letter, escape, letter) for letter in name.encode("ascii"))


# Uploads of the largest size that the disk has room for before their views run.
_SPOOLED: Final = 8
# A search names the change that it waits for in its query string, or in a body sent to one of these paths.
_CHANGE_IN_QUERY, _CHANGE_IN_BODY = query_field_pattern("min_seq"), json_field_pattern("min_seq")
_SEARCHES = re.compile(r"\A/api/v1/workspaces/[^/]+/(?:search|search/bulk|context-pack)\Z")
_BULK: Final = "/search/bulk"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """The callers, their use of threads and the budgets of bodies, which all gates of a process share."""

    callers: Callers = field(default_factory=Callers)
    usage: Usage = field(default_factory=Usage)
    short_bodies: BodyBudget = field(default_factory=BodyBudget)
    spool: Spool = field(default_factory=lambda: Spool(bytes=BodyBudget(_SPOOLED * largest_upload_bytes())))


class Gate:
    """ASGI middleware whose requests take slots of a fair queue by their callers.

    Probes must not come here. Bodies are short and are read before the request takes a slot.
    """

    def __init__(
        self, app: HttpApplication, turns: FairQueue, shares: Shares, *, release_on_start: bool = False
    ) -> None:
        """Take what a request needs; with `release_on_start` its slot is free when the response begins."""
        self._app = app
        self._turns = turns
        self._shares = shares
        self._releases_on_start = release_on_start

    async def __call__(self, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        """Answer a request, or refuse it."""
        began = time.perf_counter()
        name = self._shares.callers.name_of(scope)
        body = BufferedBody(scope, receive, self._shares.short_bodies, name)
        try:
            await body.read()
            async with _hold_slot(self._turns, name, body) as turn:
                body.keep()
                await self._app(scope, body.replay, self._watch_start(scope, turn, send))
        except (Overloaded, BodyRefused) as reason:
            body.close()
            await self._turns.hold_back()
            await refuse(scope, send, reason, began)
        except ClientGone:
            return
        finally:
            body.close()

    def _watch_start(self, scope: HTTPScope, turn: ExitStack, send: ASGISendCallable) -> ASGISendCallable:
        """Return a `send` that learns the caller when the response begins, and may release the slot."""

        async def send_watched(message: ASGISendEvent) -> None:
            if message["type"] == "http.response.start":
                self._shares.callers.learn(scope, cast("dict[str, Any]", scope), message["status"])
                if self._releases_on_start:
                    turn.close()
            await send(message)

        return send_watched


class ViewGate:
    """A gate to the WSGI views, by caller; a slot is released before the response is sent.

    A long body is received only when a view reads it, which it does after authentication: the view is then
    aborted, and called again when the body is complete.
    """

    def __init__(
        self,
        views: WsgiThreads,
        turns: FairQueue,
        shares: Shares,
        *,
        searches_that_wait: FairQueue,
        bulks: FairQueue,
    ) -> None:
        """Take the queues; searches that may wait for a change, and bulks, need a slot of theirs, too."""
        self._views = views
        self._turns = turns
        self._searches_that_wait = searches_that_wait
        self._bulks = bulks
        self._shares = shares

    async def __call__(self, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        """Answer a request, or refuse it."""
        began = time.perf_counter()
        try:
            answer = await (self._answer_short if is_short(scope) else self._answer_long)(scope, receive)
        except (Overloaded, BodyRefused) as reason:
            await self._turns.hold_back()
            await refuse(scope, send, reason, began)
        except ClientGone:
            return
        else:
            await answer.send_to(send)

    async def _answer_short(self, scope: HTTPScope, receive: ASGIReceiveCallable) -> BufferedResponse:
        name = self._shares.callers.name_of(scope)
        body = BufferedBody(scope, receive, self._shares.short_bodies, name)
        try:
            await body.read()
            async with self._hold_slots(name, self._queues_of(scope, body), body):
                return await self._answer_received(scope, build_environ(scope, io.BytesIO(body.take())))
        finally:
            body.close()

    async def _answer_long(self, scope: HTTPScope, receive: ASGIReceiveCallable) -> BufferedResponse:
        environ = build_environ(scope, UnreceivedBody())
        callers, queues = self._shares.callers, self._queues_of(scope, None)
        async with self._hold_slots(callers.name_of(scope), queues):
            answer = await self._answer(scope, environ)
        if answer is not None:
            return answer
        name = callers.name_of(scope)  # the view has verified it
        body = SpooledBody(receive, self._shares.spool, name)
        try:
            await body.read()
            # The same environment, so that a counted request is not counted again.
            environ["CONTENT_LENGTH"] = str(body.size_bytes)
            async with self._hold_slots(name, queues):
                environ["wsgi.input"] = body.take()
                return await self._answer_received(scope, environ)
        finally:
            body.close()

    async def _answer_received(self, scope: HTTPScope, environ: Environ) -> BufferedResponse:
        answer = await self._answer(scope, environ)
        assert answer is not None, "the body has been received"  # noqa: S101
        return answer

    async def _answer(self, scope: HTTPScope, environ: Environ) -> BufferedResponse | None:
        answer = await self._views.answer(environ)
        self._shares.callers.learn(scope, environ, 0 if answer is None else answer.status)
        return answer

    def _queues_of(self, scope: HTTPScope, body: BufferedBody | None) -> list[FairQueue]:
        """Return the queues of which a request takes a slot."""
        queues = [self._turns]
        if _may_wait(scope, body):
            queues.insert(0, self._searches_that_wait)
        if scope["path"].endswith(_BULK):
            queues.insert(0, self._bulks)
        return queues

    @asynccontextmanager
    async def _hold_slots(
        self, name: str, queues: list[FairQueue], body: BufferedBody | None = None
    ) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for queue in queues:
                await stack.enter_async_context(_hold_slot(queue, name, body))
            yield


@asynccontextmanager
async def _hold_slot(turns: FairQueue, name: str, body: BufferedBody | None) -> AsyncIterator[ExitStack]:
    """Hold a slot for a caller, and yield what releases it early.

    Raises Overloaded, also when the body is dropped, and ClientGone.
    """
    try:
        await turns.acquire(name, None if body is None else body.disconnect)
    except ClientGone:
        if body is not None:
            body.check()
        raise
    with ExitStack() as turn:
        turn.callback(turns.release, name)
        yield turn


def _may_wait(scope: HTTPScope, body: BufferedBody | None) -> bool:
    """Return whether a request may name a change that its response must include.

    A body that has not been read may name one.
    """
    if _CHANGE_IN_QUERY.search(scope["query_string"]) is not None:
        return True
    return _SEARCHES.match(scope["path"]) is not None and (body is None or body.contains(_CHANGE_IN_BODY))
