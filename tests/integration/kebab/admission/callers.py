"""An application behind the admission gate, and requests to it."""

import asyncio
from collections import Counter
from contextlib import asynccontextmanager
from ipaddress import ip_address
from zlib import crc32

from kebab.http.admission.fair_queue import Capacity, FairQueue
from kebab.http.admission.gate import Shares, ViewGate
from kebab.http.admission.wsgi_bridge import BufferedResponse, UnreceivedBody

ROOM = Capacity(slots=8, waiting=200, wait_s=60.0)
#: The headers of a body that the application reads by itself.
LONG = ((b"transfer-encoding", b"chunked"),)
#: A part of a body in whose place the client leaves.
LEAVES = object()
_SCOPE = {"type": "http", "http_version": "1.1"}


class App:
    """Reads the body and begins its answer once `may_begin` is set; counts the requests inside before that.

    It ends the answer at once, unless `lasts`.
    """

    def __init__(self, *, lasts=False):
        self.inside, self.most = Counter(), Counter()
        self.may_begin = asyncio.Event()
        self._lasts = lasts

    @property
    def n_inside(self):
        return self.inside.total()

    async def __call__(self, scope, receive, send):
        while (await receive()).get("more_body"):
            pass
        path = scope["path"]
        self.inside[path] += 1
        self.most["all"] = max(self.most["all"], self.n_inside)
        try:
            await self.may_begin.wait()
        finally:
            self.inside[path] -= 1
        await send({"type": "http.response.start", "status": 200, "headers": []})
        if self._lasts:
            await asyncio.get_running_loop().create_future()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class StubViews:
    """Answers like `App`, in place of the views; a body that has not been received is always wanted."""

    def __init__(self):
        self.inside = Counter()
        self.bodies = []
        self.may_begin = asyncio.Event()

    async def answer(self, environ):
        body, path = environ["wsgi.input"], environ["PATH_INFO"]
        if isinstance(body, UnreceivedBody):
            environ["noted"] = True
            return None
        self.bodies.append(body.read())
        self.environ = environ
        self.inside[path] += 1
        await self.may_begin.wait()
        self.inside[path] -= 1
        return BufferedResponse(status=200, headers=[], body=b"")


def gate_of(views, turns, shares=None, waiting=None, bulks=None):
    """Return a gate in front of views, with free capacity for all arguments left out."""
    waiting, bulks = waiting or FairQueue(ROOM), bulks or FairQueue(ROOM)
    return ViewGate(views, turns, shares or Shares(), searches_that_wait=waiting, bulks=bulks)


def address_of(path):
    """Return the address that asks for a path: one for each workspace."""
    workspace = path.replace("/api/v1/workspaces/", "/w/").split("/")[2:3]
    return str(ip_address(0x0A000000 + crc32("".join(workspace).encode()) % 2**24))


class Callers:
    """Requests in progress, and the statuses of finished ones by path."""

    def __init__(self, gate):
        self.statuses = Counter()
        self._gate, self._tasks = gate, []

    def ask(self, *paths, parts=(b"",), headers=(), method="POST", query=b""):
        """Send a request to each path; a body whose `parts` end with None never ends."""
        for path in paths:
            more = {"method": method, "path": path, "headers": list(headers), "query_string": query}
            more["client"] = (address_of(path), 1)
            self._tasks.append(asyncio.create_task(self._one({**_SCOPE, **more}, parts)))

    async def settle(self):
        for _ in range(20):
            await asyncio.sleep(0)

    async def wait_for_answers(self, n):
        """Wait for `n` answers and return the statuses, by path."""
        async with asyncio.timeout(30):
            while self.statuses.total() < n:
                await asyncio.sleep(0.01)
        return self.statuses

    async def end_of(self, path, n):
        """Wait for `n` answers to a path."""
        async with asyncio.timeout(30):
            while sum(count for (own, _), count in self.statuses.items() if own == path) < n:
                await asyncio.sleep(0.01)

    async def leave(self):
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def end(self):
        async with asyncio.timeout(30):
            await asyncio.gather(*self._tasks)

    async def _one(self, scope, parts):
        coming = list(parts)

        async def receive():
            if not coming or coming[0] is None:
                await asyncio.get_running_loop().create_future()  # the client says nothing more
            body = coming.pop(0)
            if body is LEAVES:
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": body, "more_body": bool(coming)}

        async def send(message):
            if message["type"] == "http.response.start":
                self.statuses[scope["path"], message["status"]] += 1

        await self._gate(scope, receive, send)


@asynccontextmanager
async def callers_of(gate):
    callers = Callers(gate)
    try:
        yield callers
    finally:
        await callers.leave()
