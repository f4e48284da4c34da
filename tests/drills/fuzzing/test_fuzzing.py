"""Small run of `python -m tests.drills.fuzzing`: the API conforms to its description for any request."""

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
from tests.drills.fuzzing.adversary import attack
from tests.drills.fuzzing.cost import Meter
from tests.drills.fuzzing.fuzz import fuzz

pytestmark = pytest.mark.slow

_CSRF_TOKEN = "a" * 32
_ADVERSARIAL_REQUESTS = 1_500
# It ends the workspace, so it comes last.
_END = "DELETE /api/v1/workspaces/{ws}"
# Further rounds for operations that didn't succeed in the first one by chance.
_ROUNDS = 48
# They need vectors of every chunk, which no worker creates here, and a source that can be reached.
_UNREACHABLE = {
    "POST /api/v1/workspaces/{ws}/embedding/rollback",
    "POST /api/v1/workspaces/{ws}/embedding/switch",
    "POST /api/v1/workspaces/{ws}/sources/{source_id}/test",
}


@pytest.fixture
def application(transactional_db):
    """Yield the application on one connection, which it would otherwise reopen for every request."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield get_wsgi_application()
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def schema(application):
    description = schemathesis.openapi.from_dict(SchemaGenerator().get_schema(request=None, public=True))
    description.app = application
    return description


def _with_token(workspace):
    _, secret = mint_token(workspace, scopes=[TokenScope.SEARCH, TokenScope.INGEST, TokenScope.ASK])
    return lambda case: case.call(headers={"Authorization": f"Bearer {secret}"})


def _with_session(person):
    client = Client()
    client.force_login(person)
    session = client.cookies[configured.SESSION_COOKIE_NAME].value
    cookies = {configured.SESSION_COOKIE_NAME: session, configured.CSRF_COOKIE_NAME: _CSRF_TOKEN}
    return lambda case: case.call(headers={"X-CSRFToken": _CSRF_TOKEN}, cookies=cookies)


def test_no_answer_is_a_server_error_or_violates_the_description(schema, target):
    """Send requests with an editor's token, then in an owner's session for operations without any success."""
    tallies = [fuzz(schema, _with_token(target.workspace), target.pool, seed_number=0)]
    operations = set(tallies[0].operations)
    by_owner = _with_session(target.owner)
    for seed_number in range(_ROUNDS):
        succeeded = {_END, *itertools.chain.from_iterable(tally.succeeded_operations for tally in tallies)}
        if seed_number and operations <= succeeded | _UNREACHABLE:
            break
        tallies.append(fuzz(schema, by_owner, target.pool, seed_number=seed_number, left_out=succeeded))
    tallies.append(fuzz(schema, by_owner, target.pool, seed_number=0, left_out=operations - {_END}))
    faults = {name: details for tally in tallies for name, details in tally.faults.items()}

    assert not faults, "\n\n".join(f"{name}\n{details}" for name, details in faults.items())
    assert operations - set().union(*(tally.succeeded_operations for tally in tallies)) <= _UNREACHABLE


@pytest.fixture
def callers(target):
    """Return the headers of a caller by request: a session of the owner, who is an operator, or a token."""
    target.owner.is_staff = target.owner.is_superuser = True
    target.owner.save()
    client = Client()
    client.force_login(target.owner)
    session = client.cookies[configured.SESSION_COOKIE_NAME].value
    cookie = f"{configured.SESSION_COOKIE_NAME}={session}; {configured.CSRF_COOKIE_NAME}={_CSRF_TOKEN}"
    signed_in = {"cookie": cookie, "x-csrftoken": _CSRF_TOKEN}
    _, secret = mint_token(target.workspace, scopes=list(TokenScope))
    bearer = {"authorization": f"Bearer {secret}"}
    return lambda form: bearer if "/dify/" in form.path or "/openai/" in form.path else signed_in


def test_no_request_of_a_megabyte_takes_a_thread_for_long(schema, application, target, callers, settings):
    settings.KEBAB_RATE_LIMIT = "1000000/minute"
    with Meter(application) as meter:
        findings = attack(
            schema, meter, target.pool, callers=callers, seed_number=0, requests=_ADVERSARIAL_REQUESTS
        )

    assert not findings.faults, "\n\n".join(f"{name}\n{text}" for name, text in findings.faults.items())
