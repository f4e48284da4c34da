import json

import httpx
import pytest

from tests.acceptance.notes import write_notes
from tests.drills.hostile.__main__ import words_of
from tests.drills.hostile.attempts import probes, searches
from tests.drills.hostile.bodies import BODIES
from tests.drills.hostile.endpoints import ENDPOINTS, SEARCH, SEARCH_BY_GET, Ground
from tests.drills.hostile.judge import Judge
from tests.drills.hostile.sender import ask_all, survey
from tests.drills.hostile.text import MAKERS

pytestmark = pytest.mark.slow

_N = 250
_SEED = 3
_GROUND = Ground(workspace="notes", words=("harbour", "lantern"))
# `python -m tests.drills.hostile` has strict time limits; a machine that runs other tests needs more.
_LIMIT_S = 20.0


@pytest.fixture(scope="module")
def corpus(make_client, run_command, tmp_path_factory):
    """Return a client in a workspace of some notes, and words of the notes."""
    client, folder = make_client(), tmp_path_factory.mktemp("notes")
    run_command("ingest", str(write_notes(folder)), "--workspace", client.slug)
    return client, words_of(folder)


@pytest.fixture(scope="module")
def reader(stack, run_command, corpus):
    """Yield a read-only connection to that workspace."""
    client, _ = corpus
    token = run_command("token", "create", "--workspace", client.slug, "--scope", "search")["token"]
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=stack.url, headers=headers, timeout=2 * _LIMIT_S) as http:
        yield http


@pytest.mark.parametrize("series", [searches, probes])
def test_hostile_requests_cause_no_errors_or_long_answers(stack, corpus, reader, series):
    client, words = corpus
    judge = Judge(private=(str(stack.data_dir),))
    attempts = series(_N, _SEED, survey(reader, client.slug, words))
    tally = ask_all(reader, attempts, judge, limit_s=_LIMIT_S)

    faults = tally.document()["faults"]
    assert faults == [], json.dumps(faults, indent=1)
    assert tally.n == _N
    assert tally.statuses[200] > _N / 4
    assert client.search("harbour")["hits"]


def test_searches_include_all_kinds_of_hostile_text():
    covered = {(attempt.endpoint, attempt.kind) for attempt in searches(_N, _SEED, _GROUND)}

    assert {kind for _, kind in covered} >= MAKERS.keys() | {"filters"}
    assert {endpoint for endpoint, _ in covered} == {SEARCH.name, SEARCH_BY_GET.name}


def test_probes_cover_every_endpoint_and_kind():
    covered = {(attempt.endpoint, attempt.kind) for attempt in probes(3 * _N, _SEED, _GROUND)}
    ways = {"values", "address", "path", "header", "method", *(f"body: {kind}" for kind in BODIES)}

    assert {endpoint for endpoint, _ in covered} == {endpoint.name for endpoint in ENDPOINTS}
    assert {kind for _, kind in covered} >= ways


@pytest.mark.parametrize("series", [searches, probes])
def test_shorter_series_begins_with_the_same_attempts(series):
    assert list(series(40, _SEED, _GROUND))[:20] == list(series(20, _SEED, _GROUND))
