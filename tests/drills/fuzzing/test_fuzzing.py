"""Small run of `python -m tests.drills.fuzzing`: the API conforms to its description for any request."""

import itertools
import subprocess
import sys

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from drf_spectacular.generators import SchemaGenerator

from kebab.identity.models import TokenScope
from kebab.identity.tokens import mint_token
from tests.drills.fuzzing.fuzz import fuzz
from tests.drills.fuzzing.stage import CSRF_TOKEN, log_in
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

_ADVERSARIAL_REQUESTS = 1_000
# Other tests run beside it; what counts here is the processor time.
_WAIT_LIMIT_S = 30
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
    cookies = log_in(person)
    return lambda case: case.call(headers={"X-CSRFToken": CSRF_TOKEN}, cookies=cookies)


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


def test_stack_answers_adversarial_requests_in_time():
    """Run the drill: requests of a megabyte are answered in time, without errors and without hidden data."""
    numbers = {"requests": 0, "adversarial": _ADVERSARIAL_REQUESTS, "seed": 0, "wait-limit-s": _WAIT_LIMIT_S}
    options = [f"--{name}={number}" for name, number in numbers.items()]
    command = [sys.executable, "-m", "tests.drills.fuzzing", *options]
    drill = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert drill.returncode == 0, drill.stderr + drill.stdout
