"""Who is let in to an application, by the address of a request and by how its body comes."""

import asyncio
import uuid
from collections import Counter
from contextlib import asynccontextmanager

import pytest

from kebab.admission.gate import Gate
from kebab.admission.turns import Room, Turns

ROOM = Room(slots=8, waiting=200, wait_s=60.0)
WORKSPACE = uuid.UUID("0b7e3cb6-5a55-4d3f-9a4e-0a5d2f6c1b90")
SPELLINGS = [
    str(WORKSPACE),
    WORKSPACE.hex,
    WORKSPACE.hex.upper(),
    f"{{{WORKSPACE}}}",
    WORKSPACE.urn,
    "-".join(WORKSPACE.hex),
]


class App:
    """Reads the body, begins its answer when it is told to, and counts who is inside before that."""

    def __init__(self):
        self.inside, self.most = Counter(), Counter()
        self.may_begin = asyncio.Event()

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
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class Callers:
    """Requests that are under way, and the statuses of those that were answered, by path."""

    def __init__(self, gate):
        self.statuses = Counter()
        self._gate, self._tasks = gate, []

    def ask(self, *paths, parts=(b"",), headers=(), method="POST"):
        """Send a request to each; of a body whose last part doesn't come, `parts` end with None."""
        for path in paths:
            scope = {"type": "http", "method": method, "path": path, "headers": list(headers)}
            self._tasks.append(asyncio.create_task(self._one(scope, parts)))

    async def settle(self):
        for _ in range(20):
            await asyncio.sleep(0)

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
            return {"type": "http.request", "body": body, "more_body": bool(coming)}

        async def send(message):
            if message["type"] == "http.response.start":
                self.statuses[scope["path"], message["status"]] += 1

        await self._gate(scope, receive, send)


@asynccontextmanager
async def asking(gate):
    callers = Callers(gate)
    try:
        yield callers
    finally:
        await callers.leave()


@pytest.mark.parametrize("form", ["/api/v1/workspaces/{}/search", "/w/{}/search"])
def test_all_ways_to_write_a_workspaces_id_take_turns_as_one(form):
    async def run():
        app = App()
        async with asking(Gate(app, Turns(ROOM))) as callers:
            callers.ask(*[form.format(spelling) for spelling in SPELLINGS] * 3)
            await callers.settle()
            assert app.n_inside == ROOM.slots_of_one
            callers.ask(form.format("other"))
            await callers.settle()
            assert app.n_inside == ROOM.slots_of_one + 1
            app.may_begin.set()
            await callers.end()
        assert callers.statuses.total() == 3 * len(SPELLINGS) + 1

    asyncio.run(run())


@pytest.mark.parametrize(("method", "path"), [("GET", "/version"), ("POST", "/healthz"), ("GET", "/login")])
def test_what_is_of_no_workspace_takes_turns_as_well(method, path):
    async def run():
        app = App()
        async with asking(Gate(app, Turns(ROOM))) as callers:
            callers.ask(*[path] * 50, method=method)
            await callers.settle()
            assert app.n_inside == ROOM.slots_of_one
            app.may_begin.set()
            await callers.end()
        assert app.most["all"] <= ROOM.slots
        assert callers.statuses == {(path, 200): 50}

    asyncio.run(run())
