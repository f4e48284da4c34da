"""Filters, spelling, retrievers and cursors keep a hidden source hidden; the leak tests have the rest."""

import re
from itertools import product

import pytest

from kebab.people.models import GroupMember, Membership, Role
from kebab.people.reader import OPERATOR, Reader
from search.engine.retrievers import HybridRetriever, LexicalRetriever, RerankedRetriever, VectorRetriever
from search.models import Source
from search.retrieval.types import SearchQuery
from tests.security.rights.vault import CANARIES
from tests.support.actors import make_person, person_client, token_client
from tests.support.api import address

#: What tells of the time, of numbers of changes and vectors, or of the workspace itself.
_ITS_OWN = [
    r'"took_ms":\s*[\d.]+',
    r'"timings_ms":\s*\{[^}]*\}',
    r'"(seq|lag)":\s*\d+',
    r'"index_version":\s*"[^"]*"',
    r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)",
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    r'name="csrfmiddlewaretoken" value="[^"]*"',
    r"[\d.]+ ms",
]
_FILTERS = {
    "its key": {"source": [CANARIES["key"]]},
    "its key and another": {"source": [CANARIES["key"], "docs"]},
    "its tag": {"tags_any": [CANARIES["tag"]]},
    "its path": {"path_glob": [f"{CANARIES['path']}/**"]},
}


def said(response, workspace):
    """What an answer says, without what is its workspace's own."""
    content = b"".join(response) if response.streaming else response.content
    text = content.decode().replace(workspace.slug, "SLUG").replace(workspace.name, "NAME")
    for pattern in _ITS_OWN:
        text = re.sub(pattern, "", text)
    return response.status_code, text


@pytest.fixture
def outsiders(vault):
    """Return (kind, client in the vault, client in the twin) for all who may not read the source."""
    return list(_outsiders(vault))


def _outsiders(vault):
    for role in (Role.VIEWER, Role.EDITOR):
        person = make_person()
        for workspace in (vault.workspace, vault.twin):
            Membership.objects.create(workspace=workspace, user=person, role=role)
        yield role, person_client(person), person_client(person)
    yield "token", vault.token(is_inside=False), token_client(vault.twin, "search", "ask", "ingest", "manage")


@pytest.fixture
def asks_alike(vault, outsiders):
    """Ask the same of the vault and of its twin; they answer alike to all outsiders."""

    def asks_alike(tail, body):
        for kind, client, of_twin in outsiders:
            answers = [
                said(each.post(address(workspace, tail), body, format="json"), workspace)
                for each, workspace in ((client, vault.workspace), (of_twin, vault.twin))
            ]
            assert answers[0] == answers[1], (kind, tail)
            assert answers[0][0] == 200, answers[0]
        return answers[0][1]

    return asks_alike


@pytest.fixture
def insiders(vault):
    """Clients of all who may read the source."""
    return [
        vault.client(is_inside=True),
        vault.client(Role.EDITOR, is_inside=True),
        vault.client(Role.ADMIN),
        vault.client(Role.OWNER),
        vault.token(is_inside=True),
    ]


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "vector"])
def test_a_filtered_search_tells_nothing_of_it(vault, asks_alike, mode):
    for word, filters in product(("image", CANARIES["text"]), _FILTERS.values()):
        body = {"q": word, "mode": mode, "filters": filters, "explain": True}
        assert '"hits":' in asks_alike("/search", body)


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "vector"])
def test_why_not_answers_for_its_ids_as_for_none(vault, asks_alike, mode):
    for target in (vault.chunk.chunk_id.hex, vault.document.doc_id.hex):
        for filters in ({}, _FILTERS["its key"], _FILTERS["its tag"]):
            body = {"q": "image", "mode": mode, "why_not": target, "filters": filters}
            assert '"gate":"unknown"' in asks_alike("/search", body)


def test_a_misspelt_word_of_it_is_not_put_right(vault, asks_alike, insiders):
    for word in ("quokatext", "quokka text", "wombatheadinng"):
        assert '"did_you_mean":null' in asks_alike("/search", {"q": word, "mode": "lexical"})
    for client in insiders:
        body = {"q": "quokatext", "mode": "lexical"}
        answer = client.post(address(vault.workspace, "/search"), body, format="json").json()
        assert answer["did_you_mean"] == CANARIES["text"]


@pytest.mark.parametrize("made", [LexicalRetriever, VectorRetriever, HybridRetriever, RerankedRetriever])
def test_a_retriever_keeps_to_its_reader(vault, made):
    query = SearchQuery(text=CANARIES["text"], k=50)
    for reader, is_found in (
        (Reader(), False),
        (vault.outside, False),
        (vault.inside, True),
        (OPERATOR, True),
    ):
        hits = made(vault.workspace, reader).search(query)
        assert (vault.chunk.chunk_id.hex in [hit.chunk_id for hit in hits]) is is_found


class TestARightThatIsWithdrawn:
    """It ends with the next request, whatever was kept of the ones before."""

    @pytest.fixture
    def person(self, vault):
        return vault.member(is_inside=True)

    @pytest.fixture
    def first(self, vault, person):
        """The client, and its first answer: one hit, and the hidden one behind it."""
        client = person_client(person)
        answer = self.ask(client, vault, q="image restart", k=1)
        behind = self.ask(client, vault, cursor=answer["next_cursor"], k=50)
        assert CANARIES["key"] in [hit["source"] for hit in [*answer["hits"], *behind["hits"]]]
        return client, answer

    def ask(self, client, vault, **body):
        return client.post(address(vault.workspace, "/search"), body, format="json").json()

    def test_the_next_page_of_a_cursor_is_without_it(self, vault, first):
        client, answer = first
        GroupMember.objects.all().delete()
        page = self.ask(client, vault, cursor=answer["next_cursor"], k=50)
        assert page["hits"]
        assert {hit["source"] for hit in page["hits"]} == {"docs"}

    def test_the_next_search_is_without_it(self, vault, first):
        client, _ = first
        GroupMember.objects.all().delete()
        assert {hit["source"] for hit in self.ask(client, vault, q="image restart")["hits"]} == {"docs"}

    def test_a_cursor_of_one_opens_nothing_for_another(self, vault, first):
        _, answer = first
        other = vault.client(is_inside=True)
        assert self.ask(other, vault, cursor=answer["next_cursor"])["code"] == "stale_cursor"

    def test_a_source_that_becomes_restricted_is_gone_at_once(self, vault, first):
        client = vault.client()
        assert self.ask(client, vault, q="backup")["hits"]
        Source.objects.in_workspace(vault.workspace).update(is_restricted=True)
        answer = self.ask(client, vault, q="backup")
        assert (answer["hits"], answer["lexical_total"]["value"]) == ([], 0)
