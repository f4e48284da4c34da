"""The API holds to its own description, whatever is sent: a small `python -m tests.fuzzing`."""

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from drf_spectacular.generators import SchemaGenerator

from kebab.people.models import Scope
from kebab.people.tokens import mint_token
from tests.api_plumbing.actors import make_workspace
from tests.corpus.making import write
from tests.fuzzing.fuzz import fuzz
from tests.fuzzing.pool import Pool

_REQUESTS = 1_500
_LIMIT_S = 90.0
# An operation that nobody reached in the time there was proves nothing.
_LEAST = 400


@pytest.fixture
def application(transactional_db):
    """The application on one connection, which it would close and make anew for every request."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield get_wsgi_application()
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def test_no_answer_is_a_server_error_or_breaks_the_description(application, settings, mirrors, tmp_path):
    settings.KEBAB_WAIT_LIMIT_S = 0
    settings.STORAGES = {
        **settings.STORAGES,
        "default": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": tmp_path / "blobs"},
        },
    }
    workspace = make_workspace()
    for number in range(20):
        write(workspace, f"{number}.md", f"Boat number {number} lies at its mooring.")
    _, secret = mint_token(workspace, scopes=[Scope.SEARCH, Scope.INGEST, Scope.ASK])
    schema = schemathesis.openapi.from_dict(SchemaGenerator().get_schema(request=None, public=True))
    schema.app = application

    tally = fuzz(
        schema,
        lambda case: case.call(headers={"Authorization": f"Bearer {secret}"}),
        Pool(workspace.slug, 0),
        requests=_REQUESTS,
        seed_number=0,
        limit_s=_LIMIT_S,
    )

    assert not tally.faults, "\n\n".join(f"{name}\n{told}" for name, told in tally.faults.items())
    assert tally.n >= _LEAST
