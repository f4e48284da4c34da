import httpx
import pytest

from tests.acceptance.notes import write_notes
from tests.hostile.__main__ import words_of
from tests.hostile.asking import ask_all, library_of
from tests.hostile.attempts import SCHEMAS, attempts
from tests.hostile.text import MAKERS

pytestmark = pytest.mark.stack

_N = 400
_SEED = 3
# `python -m tests.hostile` is strict about time; a machine that runs other tests too is not.
_LIMIT_S = 20.0


@pytest.fixture
def corpus(make_client, verb, tmp_path):
    """A client in a workspace of some notes, and words that they hold."""
    client = make_client()
    verb("ingest", str(write_notes(tmp_path)), "--workspace", client.slug)
    return client, words_of(tmp_path)


def test_no_query_breaks_the_service_or_keeps_it_busy(stack, corpus):
    client, words = corpus
    headers = {"Authorization": f"Bearer {client.token}"}
    with httpx.Client(base_url=f"{stack.url}/api/v1", headers=headers, timeout=_LIMIT_S) as http:
        requests = attempts(_N, _SEED, words, library_of(http, client.slug))
        tally = ask_all(http, client.slug, requests, limit_s=_LIMIT_S)

    assert tally.document()["faults"] == []
    assert tally.n == _N
    assert tally.statuses[200] > _N / 3
    assert client.search("harbour")["hits"]


def test_all_kinds_of_hostile_text_are_among_the_queries(corpus):
    made = list(attempts(_N, _SEED, corpus[1], "/local/notes"))

    assert {attempt.kind for attempt in made} >= MAKERS.keys() | {"filters", "wrong types", "bulk"}
    assert {attempt.door for attempt in made} == SCHEMAS.keys()
