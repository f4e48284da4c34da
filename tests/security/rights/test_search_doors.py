"""Filters, spelling, retrievers and cursors keep a hidden source hidden; the leak tests have the rest."""

import re
from itertools import product

import pytest

from kebab.identity.models import GroupMember, Membership, Role
from kebab.identity.reader import OPERATOR, Reader
from search.engine.retrievers import HybridRetriever, LexicalRetriever, RerankedRetriever, VectorRetriever
from search.models import Source
from search.retrieval.types import SearchQuery
from tests.security.rights.vault import CANARIES
from tests.support.actors import make_person, person_client, token_client
from tests.support.api import address

#: Times, change numbers, vector versions and names of the workspace.
_VARYING = [
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


def contents(response, workspace):
    """Return an answer without the values that differ between workspaces."""
    content = b"".join(response) if response.streaming else response.content
    text = content.decode().replace(workspace.slug, "SLUG").replace(workspace.name, "NAME")
    for pattern in _VARYING:
        text = re.sub(pattern, "", text)
    return response.status_code, text


@pytest.fixture
def outsiders(vault):
    """Return (kind, client in the vault, client in the twin) for all who may not read the source."""
    return list(_make_outsiders(vault))


def _make_outsiders(vault):
    for role in (Role.VIEWER, Role.EDITOR):
        person = make_person()
        for workspace in (vault.workspace, vault.twin):
            Membership.objects.create(workspace=workspace, user=person, role=role)
        yield role, person_client(person), person_client(person)
    yield "token", vault.token(is_inside=False), token_client(vault.twin, "search", "ask", "ingest", "manage")


@pytest.fixture
def assert_same_answers(vault, outsiders):
    """Return a function that asserts equal answers of the vault and its twin to all outsiders."""

    def assert_same_answers(tail, body):
        for kind, client, of_twin in outsiders:
            answers = [
                contents(each.post(address(workspace, tail), body, format="json"), workspace)
                for each, workspace in ((client, vault.workspace), (of_twin, vault.twin))
            ]
            assert answers[0] == answers[1], (kind, tail)
            assert answers[0][0] == 200, answers[0]
        return answers[0][1]

    return assert_same_answers


@pytest.fixture
def insiders(vault):
    """Return clients of all who may read the source."""
    return [
        vault.client(is_inside=True),
        vault.client(Role.EDITOR, is_inside=True),
        vault.client(Role.ADMIN),
        vault.client(Role.OWNER),
        vault.token(is_inside=True),
    ]


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "vector"])
def test_filtered_search_reveals_nothing(vault, assert_same_answers, mode):
    for word, filters in product(("image", CANARIES["text"]), _FILTERS.values()):
        body = {"q": word, "mode": mode, "filters": filters, "explain": True}
        assert '"hits":' in assert_same_answers("/search", body)


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "vector"])
def test_why_not_answers_for_hidden_ids_like_missing_ones(vault, assert_same_answers, mode):
    for target in (vault.chunk.chunk_id.hex, vault.document.doc_id.hex):
        for filters in ({}, _FILTERS["its key"], _FILTERS["its tag"]):
            body = {"q": "image", "mode": mode, "why_not": target, "filters": filters}
            assert '"gate":"unknown"' in assert_same_answers("/search", body)


def test_misspelt_hidden_word_is_not_corrected(vault, assert_same_answers, insiders):
    for word in ("quokatext", "quokka text", "wombatheadinng"):
        for typos in (True, False):
            body = {"q": word, "mode": "lexical", "typos": typos}
            answer = assert_same_answers("/search", body)
            assert '"corrected_query":null' in answer and '"did_you_mean":null' in answer
    for client in insiders:
        for typos, field in ((True, "corrected_query"), (False, "did_you_mean")):
            body = {"q": "quokatext", "mode": "lexical", "typos": typos}
            answer = client.post(address(vault.workspace, "/search"), body, format="json").json()
            assert answer[field] == CANARIES["text"]


def test_beginning_of_a_hidden_word_finds_nothing(vault, assert_same_answers, insiders):
    for word in (CANARIES["text"][:5], CANARIES["text"][:-1]):
        body = {"q": word, "mode": "lexical", "prefix": True, "explain": True}
        assert '"hits":[]' in assert_same_answers("/search", body)
        for client in insiders:
            assert client.post(address(vault.workspace, "/search"), body, format="json").json()["hits"]


@pytest.mark.parametrize(
    "retriever_type", [LexicalRetriever, VectorRetriever, HybridRetriever, RerankedRetriever]
)
def test_retriever_respects_its_reader(vault, retriever_type):
    query = SearchQuery(text=CANARIES["text"], k=50)
    for reader, is_found in (
        (Reader(), False),
        (vault.outside, False),
        (vault.inside, True),
        (OPERATOR, True),
    ):
        hits = retriever_type(vault.workspace, reader).search(query)
        assert (vault.chunk.chunk_id.hex in [hit.chunk_id for hit in hits]) is is_found


class TestWithdrawnRight:
    """The right ends with the next request, whatever was stored for earlier ones."""

    @pytest.fixture
    def person(self, vault):
        return vault.member(is_inside=True)

    @pytest.fixture
    def first(self, vault, person):
        """Return the client and its first answer: one hit, with the hidden one on the next page."""
        client = person_client(person)
        answer = self.ask(client, vault, q="image restart", k=1)
        behind = self.ask(client, vault, cursor=answer["next_cursor"], k=50)
        assert CANARIES["key"] in [hit["source"] for hit in [*answer["hits"], *behind["hits"]]]
        return client, answer

    def ask(self, client, vault, **body):
        return client.post(address(vault.workspace, "/search"), body, format="json").json()

    def test_next_page_of_a_cursor_omits_the_source(self, vault, first):
        client, answer = first
        GroupMember.objects.all().delete()
        page = self.ask(client, vault, cursor=answer["next_cursor"], k=50)
        assert page["hits"]
        assert {hit["source"] for hit in page["hits"]} == {"docs"}

    def test_next_search_omits_the_source(self, vault, first):
        client, _ = first
        GroupMember.objects.all().delete()
        assert {hit["source"] for hit in self.ask(client, vault, q="image restart")["hits"]} == {"docs"}

    def test_cursor_of_another_person_is_rejected(self, vault, first):
        _, answer = first
        other = vault.client(is_inside=True)
        assert self.ask(other, vault, cursor=answer["next_cursor"])["code"] == "stale_cursor"

    def test_source_that_becomes_restricted_is_hidden_at_once(self, vault, first):
        client = vault.client()
        assert self.ask(client, vault, q="backup")["hits"]
        Source.objects.in_workspace(vault.workspace).update(is_restricted=True)
        answer = self.ask(client, vault, q="backup")
        assert (answer["hits"], answer["lexical_total"]["value"]) == ([], 0)
