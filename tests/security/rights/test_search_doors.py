"""At every door of search a hidden source is as one that never was: the same bytes as from the twin."""

import re
from urllib.parse import quote

import pytest
from django.urls import reverse

from kebab.people.models import GroupMember, Membership, Role
from kebab.people.reader import OPERATOR, Reader
from search.models import Source
from search.retrieval.types import SearchQuery
from search.retrievers import HybridRetriever, LexicalRetriever, RerankedRetriever, VectorRetriever
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
    """Give (kind, client in the vault, client in the twin) for all who may not read the source."""
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

    def asks_alike(tail, body=None, *, status=200, page=False):
        for kind, client, of_twin in outsiders:
            if page and kind == "token":
                continue
            answers = [
                said(_asked(each, workspace, tail, body, page=page), workspace)
                for each, workspace in ((client, vault.workspace), (of_twin, vault.twin))
            ]
            assert answers[0] == answers[1], (kind, tail)
            assert answers[0][0] == status, answers[0]
        return answers[0][1]

    return asks_alike


def _asked(client, workspace, tail, body, *, page):
    where = f"/w/{workspace.slug}{tail}" if page else address(workspace, tail)
    return client.get(where) if body is None else client.post(where, body, format="json")


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
def test_a_search_tells_nothing_of_it(vault, asks_alike, mode):
    for word in (*CANARIES.values(), "image", '"one by one"', f"'{CANARIES['text'][:6]}* OR image'"):
        body = {"q": word, "mode": mode, "explain": True, "k": 50}
        assert '"hits":' in asks_alike("/search", body)


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "vector"])
@pytest.mark.parametrize("filters", _FILTERS.values(), ids=_FILTERS.keys())
def test_a_filtered_search_tells_nothing_of_it(vault, asks_alike, mode, filters):
    for word in ("image", CANARIES["text"]):
        body = {"q": word, "mode": mode, "filters": filters, "explain": True}
        assert '"hits":' in asks_alike("/search", body)


def test_search_by_its_id_tells_nothing_of_it(vault, asks_alike):
    asks_alike(f"/search?q=image&source={vault.hidden.pk}")


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "vector"])
def test_why_not_answers_for_its_ids_as_for_none(vault, asks_alike, mode):
    for target in (vault.chunk.chunk_id.hex, vault.document.doc_id.hex):
        for filters in ({}, _FILTERS["its key"], _FILTERS["its tag"]):
            body = {"q": "image", "mode": mode, "why_not": target, "filters": filters}
            assert '"gate":"unknown"' in asks_alike("/search", body)


def test_those_who_may_read_it_find_it(vault, insiders):
    for client in insiders:
        for word in (CANARIES["text"], CANARIES["heading"], CANARIES["name"]):
            hits = client.get(address(vault.workspace, f"/search?q={word}&explain=1")).json()["hits"]
            assert vault.chunk.chunk_id.hex in [hit["chunk_id"] for hit in hits]
        body = {"q": "image", "filters": {"source": [str(vault.hidden.pk)]}}
        hits = client.post(address(vault.workspace, "/search"), body, format="json").json()["hits"]
        assert [hit["source"] for hit in hits] == [CANARIES["key"]]


def test_a_bulk_tells_nothing_of_it(vault, asks_alike):
    queries = [{"q": word, "explain": True} for word in CANARIES.values()]
    queries += [{"q": "image", "filters": filters} for filters in _FILTERS.values()]
    asks_alike("/search/bulk", {"queries": queries})


def test_suggestions_tell_nothing_of_it(vault, asks_alike, insiders):
    for word in (*CANARIES.values(), "image"):
        for end in (2, 4, len(word)):
            asks_alike(f"/suggest?q={word[:end]}")
    for client in insiders:
        found = client.get(address(vault.workspace, "/suggest?q=quok")).json()["suggestions"]
        assert CANARIES["text"] in [each["text"] for each in found]


def test_a_misspelt_word_of_it_is_not_put_right(vault, asks_alike, insiders):
    for word in ("quokatext", "quokka text", "wombatheadinng"):
        assert '"did_you_mean":null' in asks_alike("/search", {"q": word, "mode": "lexical"})
    for client in insiders:
        body = {"q": "quokatext", "mode": "lexical"}
        answer = client.post(address(vault.workspace, "/search"), body, format="json").json()
        assert answer["did_you_mean"] == CANARIES["text"]


@pytest.mark.parametrize("form", ["json", "txt"])
def test_it_is_no_library(vault, asks_alike, insiders, form):
    for name in (*CANARIES.values(), "Vault", "/local/", "image"):
        asks_alike(f"/libs/search?libraryName={quote(name)}&query=image&type={form}")
    library = vault.hidden.library_id
    asks_alike(f"/context?libraryId={library}&query=image&type={form}", status=404)
    asks_alike(f"/context?libraryId={library}@v1&query=image&type={form}", status=404)
    for client in insiders:
        context = client.get(address(vault.workspace, f"/context?libraryId={library}&query=image"))
        assert CANARIES["text"] in context.content.decode()


def test_it_has_no_snippets(vault, asks_alike, insiders):
    asks_alike(f"/libs/snippets?libraryId={vault.hidden.library_id}&query=image", status=404)
    other = Source.objects.in_workspace(vault.workspace).get(key="docs").library_id
    for word in ("image", CANARIES["text"], CANARIES["text"][:6]):
        asks_alike(f"/libs/snippets?libraryId={other}&query={word}")
    for client in insiders:
        tail = f"/libs/snippets?libraryId={vault.hidden.library_id}&query=quokk"
        assert CANARIES["text"] in client.get(address(vault.workspace, tail)).content.decode()


def test_a_context_pack_holds_nothing_of_it(vault, asks_alike):
    expand = {"neighbours": 3, "siblings": True, "imports": True}
    for filters in ({}, *_FILTERS.values()):
        body = {"information_request": "restart the image", "filters": filters, "expand": expand}
        asks_alike("/context-pack", {**body, "technical_terms": [CANARIES["name"]], "cutoff": False})


def test_a_context_pack_of_those_who_may_read_it_holds_it(vault, insiders):
    body = {"information_request": CANARIES["text"]}
    for client in insiders:
        pack = client.post(address(vault.workspace, "/context-pack"), body, format="json")
        assert CANARIES["path"] in pack.content.decode()


@pytest.mark.parametrize("tail", ["/documents/{doc}", "/documents/{doc}/content", "/documents/{doc}/chunks"])
def test_its_documents_are_not_there(vault, asks_alike, insiders, tail):
    at = tail.format(doc=vault.document.doc_id.hex)
    asks_alike(at, status=404)
    for client in insiders:
        assert said(client.get(address(vault.workspace, at)), vault.workspace)[0] == 200


def test_its_chunks_are_not_there(vault, asks_alike, insiders):
    at = f"/chunks/{vault.chunk.chunk_id.hex}?context=2"
    asks_alike(at, status=404)
    for client in insiders:
        assert client.get(address(vault.workspace, at)).json()["id"] == vault.chunk.chunk_id.hex


def test_pages_tell_nothing_of_it(vault, asks_alike, insiders):
    doc = vault.document.doc_id.hex
    for mode in ("hybrid", "lexical", "vector"):
        for word in (*CANARIES.values(), "image"):
            asks_alike(f"/search?q={word}&mode={mode}", page=True)
    for tail in (f"/documents/{doc}", f"/documents/{doc}/pages/1.png", f"/documents/{doc}/picture"):
        asks_alike(tail, status=404, page=True)
    for client in insiders[:-1]:  # tokens have no pages
        found = client.get(reverse("search", args=[vault.workspace.slug]), {"q": CANARIES["text"]})
        assert doc in found.content.decode()
        page = client.get(reverse("document", args=[vault.workspace.slug, vault.document.doc_id]))
        assert CANARIES["title"] in page.content.decode()


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
