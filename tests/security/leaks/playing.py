"""Sends requests, each undone at once, and the calls of the registry."""

from collections.abc import Mapping
from copy import deepcopy
from itertools import count
from typing import Any

from django.db import transaction

from tests.security.leaks.call import Call
from tests.security.leaks.callers import Caller
from tests.security.leaks.canaries import Target
from tests.security.leaks.looking import Answer
from tests.security.leaks.routes import Route, routes

_addresses = count(1)
ROUTES: Mapping[str, Route] = {route.name: route for route in routes()}


def play(caller: Caller, call: Call, workspace: str, target: Target, *, method: str = "") -> Answer:
    """Send a call at a workspace's address with the target's ids, and undo what it did."""
    route = ROUTES[call.route]
    path, body = call.address(route, workspace, target), call.filled_body(target)
    given = {"workspace": workspace, **call.given(route, target)}
    return send_undone(caller, method or call.method, path, body, given)


def send_undone(
    caller: Caller, method: str, path: str, body: Any = None, given: Mapping[str, str] | None = None
) -> Answer:
    """Send a request, and undo what it did: its writes, and what the client keeps of the answer."""
    cookies = deepcopy(caller.client.cookies)
    with transaction.atomic():
        answer = send(caller, method, path, body, given)
        transaction.set_rollback(True)
    caller.client.cookies = cookies
    return answer


def send(
    caller: Caller, method: str, path: str, body: Any = None, given: Mapping[str, str] | None = None
) -> Answer:
    """Send a request. Bad credentials are counted by network address, so that each comes from another."""
    number = next(_addresses)
    address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    is_form = not path.startswith("/api/")  # a page's
    options = {} if method in ("get", "head") else {"format": "multipart" if is_form else "json"}
    response = getattr(caller.client, method)(path, body, REMOTE_ADDR=address, **options)
    return Answer.of(response, {} if given is None else given)
