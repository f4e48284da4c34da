"""An empty list of sources yields no row, in each leg and each separate reading."""

from dataclasses import replace

import pytest

from kebab.people.reader import OPERATOR, Reader
from search.access.scope import Sources, resolve_scope
from search.context.chunk_queries import read_chunks, visible_chunks, visible_documents
from search.embedders.configured import configured_embedder
from search.engine.did_you_mean import suggest_query
from search.engine.readback import read_back, read_hits, read_passages
from search.engine.search import lexical_leg, mirror_reading
from search.mirror.query.autocomplete import completions, outlines
from search.mirror.query.exact import ExactLeg
from search.mirror.query.vocabulary import Vocabulary
from search.models import Chunk
from search.retrieval.query.filters import SearchFilters
from search.vectors.nearest import QueryPoint, nearest_chunks


@pytest.fixture(params=["by rights", "by a filter"])
def empty_scope(vault, request):
    """Return a scope without any source."""
    scope = resolve_scope(vault.workspace, SearchFilters(), OPERATOR)
    if request.param == "by rights":
        return replace(scope, sources=Sources(), readable=Sources())
    return replace(scope, sources=Sources(), filters=SearchFilters(source=("absent",)))


@pytest.fixture
def full_scope(vault):
    return resolve_scope(vault.workspace, SearchFilters(), OPERATOR)


@pytest.fixture
def chunk_ids(vault):
    return [each.chunk_id.hex for each in Chunk.objects.in_workspace(vault.workspace)]


@pytest.mark.parametrize("text", ["image", '"one by one"', "'image'", "'imag*'", "restart the image workers"])
def test_lexical_leg_finds_nothing(vault, empty_scope, full_scope, chunk_ids, text):
    assert lexical_leg(vault.workspace, full_scope, text).search(100)
    leg = lexical_leg(vault.workspace, empty_scope, text)
    assert leg.search(100) == []
    assert leg.total.value == 0
    assert leg.fts5_snippets(chunk_ids, 50) == {}


def test_lexical_leg_scores_readable_chunks_only(vault, chunk_ids):
    scope = resolve_scope(vault.workspace, SearchFilters(), Reader())
    for text in ("image", '"one by one"'):
        scores = lexical_leg(vault.workspace, scope, text).score(chunk_ids)
        assert scores[vault.chunk.chunk_id.hex] == 0.0
        assert max(scores.values()) > 0.0


@pytest.mark.parametrize("text", ["restart_workers()", '"one by one"', "tammar.wallaby_name"])
def test_exact_leg_finds_nothing(vault, empty_scope, full_scope, text):
    assert ExactLeg(mirror_reading(vault.workspace, full_scope), text).search(100)
    assert ExactLeg(mirror_reading(vault.workspace, empty_scope), text).search(100) == []


@pytest.mark.parametrize("is_indexed", [False, True])
def test_vector_leg_finds_and_compares_nothing(vault, empty_scope, full_scope, chunk_ids, is_indexed):
    vector = configured_embedder().embed_query("image")
    space = replace(full_scope.space, is_indexed=is_indexed)
    assert len(nearest_chunks(full_scope, QueryPoint(space, vector), limit=100)) == len(chunk_ids)
    point = QueryPoint(space, vector)
    assert len(read_back(full_scope, chunk_ids, point, chunk_ids).similarities) == len(chunk_ids)
    assert nearest_chunks(empty_scope, QueryPoint(space, vector), limit=100) == []
    assert read_back(empty_scope, chunk_ids, point, chunk_ids).similarities == {}


def test_read_back_returns_nothing(empty_scope, full_scope, chunk_ids):
    assert len(read_back(full_scope, chunk_ids).documents) == len(chunk_ids)
    assert read_back(empty_scope, chunk_ids).documents == {}
    for read in (read_hits, read_passages, read_chunks):
        assert len(read(full_scope, chunk_ids)) == len(chunk_ids)
        assert read(empty_scope, chunk_ids) == {}


def test_chunk_and_document_lookups_return_nothing(empty_scope, full_scope):
    assert visible_chunks(full_scope).exists() and visible_documents(full_scope).exists()
    assert not visible_chunks(empty_scope).exists()
    assert not visible_documents(empty_scope).exists()


def test_no_completion_or_spelling_suggestion_is_made(vault, empty_scope):
    reading = mirror_reading(vault.workspace, empty_scope)
    with reading.connection() as connection:
        vocabulary = Vocabulary(reading, connection)
        assert outlines(vocabulary, ["chapter"]) == []
        assert completions(vocabulary, ["restar"]) == []
        assert vocabulary.sample("image", 10) == []
    assert suggest_query(reading, "imaeg restrat") is None
