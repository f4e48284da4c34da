"""The API holds to its own description, whatever is sent: a small `python -m tests.drills.fuzzing`."""

import itertools

import pytest
import schemathesis
from django.conf import settings as configured
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

from kebab.people.models import TokenScope
from kebab.people.tokens import mint_token
from tests.drills.fuzzing.fuzz import fuzz

pytestmark = pytest.mark.slow

_CSRF_TOKEN = "a" * 32
# After it there is nothing left to ask about.
_END = "DELETE /api/v1/workspaces/{ws}"
# What the first round didn't do for want of luck gets others.
_ROUNDS = 48
# They need vectors of every chunk, which no worker makes here.
_BEYOND = {
    "POST /api/v1/workspaces/{ws}/embedding/rollback",
    "POST /api/v1/workspaces/{ws}/embedding/switch",
}


@pytest.fixture
def application(transactional_db):
    """The application on one connection, which it would close and make anew for every request."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield get_wsgi_application()
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def schema(application):
    described = schemathesis.openapi.from_dict(SchemaGenerator().get_schema(request=None, public=True))
    described.app = application
    return described


def _with_token(workspace):
    _, secret = mint_token(workspace, scopes=[TokenScope.SEARCH, TokenScope.INGEST, TokenScope.ASK])
    return lambda case: case.call(headers={"Authorization": f"Bearer {secret}"})


def _with_session(person):
    client = Client()
    client.force_login(person)
    session = client.cookies[configured.SESSION_COOKIE_NAME].value
    cookies = {configured.SESSION_COOKIE_NAME: session, configured.CSRF_COOKIE_NAME: _CSRF_TOKEN}
    return lambda case: case.call(headers={"X-CSRFToken": _CSRF_TOKEN}, cookies=cookies)


def test_no_answer_is_a_server_error_or_breaks_the_description(schema, ground):
    """An editor's token asks, then a signed-in owner for what nothing was got done with yet."""
    tallies = [fuzz(schema, _with_token(ground.workspace), ground.pool, seed_number=0)]
    operations = set(tallies[0].operations)
    by_owner = _with_session(ground.owner)
    for seed_number in range(_ROUNDS):
        done = {_END, *itertools.chain.from_iterable(tally.succeeded for tally in tallies)}
        if seed_number and operations <= done | _BEYOND:
            break
        tallies.append(fuzz(schema, by_owner, ground.pool, seed_number=seed_number, left_out=done))
    tallies.append(fuzz(schema, by_owner, ground.pool, seed_number=0, left_out=operations - {_END}))
    faults = {name: told for tally in tallies for name, told in tally.faults.items()}

    assert not faults, "\n\n".join(f"{name}\n{told}" for name, told in faults.items())
    assert operations - set().union(*(tally.succeeded for tally in tallies)) <= _BEYOND
