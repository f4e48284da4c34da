"""No request that changes something is taken from a session without the CSRF token, at no address."""

import re
import uuid
from itertools import product

import pytest
from django.test import Client
from django.urls import Resolver404, resolve

from kebab.people.models import Membership, Role, User, Workspace
from tests.security.leaks.routes import routes

_VALUES = ("1" * 32, "1", str(uuid.UUID(int=1)), "x.css")
_UNSAFE = ("post", "put", "patch", "delete")


def address_of(route):
    """Give an address that the route answers."""
    parts = re.split("<[^<>]+>", route.pattern)
    for values in product(_VALUES, repeat=len(parts) - 1):
        path = "/" + "".join(part + value for part, value in zip(parts, (*values, ""), strict=True))
        try:
            resolve(path)
        except Resolver404:
            continue
        return path
    raise LookupError(route)


@pytest.fixture
def operator(db):
    """Somebody whom nothing else would refuse."""
    user = User.objects.create_superuser("root@example.org")
    workspace = Workspace.objects.create(pk=uuid.UUID(_VALUES[0]), slug="one", name="One")
    Membership.objects.create(workspace=workspace, user=user, role=Role.OWNER)
    return user


def is_refused_for_its_token(response):
    if response.get("Content-Type") == "application/problem+json":
        return response.status_code == 403 and response.json()["code"] == "csrf_failed"
    return response.status_code == 403 and b"This form is out of date" in response.content


def test_every_unsafe_request_of_a_session_needs_the_token(operator):
    client = Client(enforce_csrf_checks=True)
    client.force_login(operator)
    taken, refused = set(), 0
    for route in routes():
        path = address_of(route)
        for method in _UNSAFE:
            response = getattr(client, method)(path, {}, content_type="application/json")
            if is_refused_for_its_token(response):
                refused += 1
            elif response.status_code != 405:
                taken.add((method, route.pattern, response.status_code))

    assert taken == set()
    assert refused > 100
