"""Sends requests and the calls of the registry, and rolls each back."""

from collections.abc import Mapping
from copy import deepcopy
from itertools import count
from typing import Any

from django.db import transaction

from tests.security.leaks.answers import Answer
from tests.security.leaks.call import Call
from tests.security.leaks.callers import Caller
from tests.security.leaks.canaries import Target
from tests.security.leaks.routes import Route, routes

_addresses = count(1)
ROUTES: Mapping[str, Route] = {route.name: route for route in routes()}


def send_call(caller: Caller, call: Call, workspace: str, target: Target, *, method: str = "") -> Answer:
    """Send a call to a workspace's address with the target's ids, and roll it back."""
    route = ROUTES[call.route]
    path, body = call.address(route, workspace, target), call.body_for(target, workspace)
    given = {"workspace": workspace, **call.request_texts(route, target)}
    headers = {"hx-request": "true"} if call.is_partial else {}
    return send_and_roll_back(caller, method or call.method, path, body, given, headers=headers)


def send_and_roll_back(
    caller: Caller,
    method: str,
    path: str,
    body: Any = None,
    given: Mapping[str, str] | None = None,
    **more: Any,
) -> Answer:
    """Send a request, and roll back its writes and the client's cookies."""
    cookies = deepcopy(caller.client.cookies)
    with transaction.atomic():
        answer = send(caller, method, path, body, given, **more)
        transaction.set_rollback(True)
    caller.client.cookies = cookies
    return answer


def send(
    caller: Caller,
    method: str,
    path: str,
    body: Any = None,
    given: Mapping[str, str] | None = None,
    **more: Any,
) -> Answer:
    """Send a request from a new address, as bad credentials are counted by address."""
    number = next(_addresses)
    address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    is_form = not path.startswith("/api/") or path.endswith("/documents/file")  # pages take forms
    options = {} if method in ("get", "head") else {"format": "multipart" if is_form else "json"}
    response = getattr(caller.client, method)(path, body, REMOTE_ADDR=address, **options, **more)
    return Answer.of(response, {} if given is None else given)
