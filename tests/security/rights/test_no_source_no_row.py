"""An empty list of sources yields no row, in each leg and each separate reading."""

from dataclasses import replace
from functools import partial

import pytest

from kebab.identity.reader import OPERATOR, Reader
from search.access.predicate import chunks_in_scope, documents_in_scope
from search.access.scope import Sources, resolve_scope
from search.context.chunk_queries import read_chunks
from search.embedders.configured import configured_embedder
from search.engine.corpus import Corpus, mirror_source
from search.engine.did_you_mean import suggest_query
from search.engine.readback import read_documents, read_hits, read_passages, read_visible
from search.mirror.query.autocomplete import completions, outlines
from search.mirror.query.exact import ExactLeg
from search.mirror.query.lexical import LexicalLeg, chunks_that_match
from search.mirror.query.spelling import Vocabulary
from search.models import Chunk
from search.retrieval.fusion.legs import pack_ids
from search.retrieval.query.filters import SearchFilters
from search.vectors import nearest
from search.vectors.nearest import QueryPoint
from search.vectors.quantised_index import CodeCache


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
    with mirror_source(vault.workspace, full_scope).open() as view:
        found = LexicalLeg(view, text).search(100)
        assert len(found.ids) > 0
        assert chunks_that_match(view, found.match, chunk_ids)
    with mirror_source(vault.workspace, empty_scope).open() as view:
        found = LexicalLeg(view, text).search(100)
        assert (len(found.ids), found.total.value) == (0, 0)
        assert not chunks_that_match(view, found.match, chunk_ids)


def test_lexical_leg_scores_readable_chunks_only(vault, chunk_ids):
    scope = resolve_scope(vault.workspace, SearchFilters(), Reader())
    with mirror_source(vault.workspace, scope).open() as view:
        for text in ("image", '"one by one"', "'image'"):
            found = LexicalLeg(view, text).search(100)
            scores = dict(zip(chunk_ids, found.score(pack_ids(chunk_ids)).tolist(), strict=True))
            assert scores[vault.chunk.chunk_id.hex] == 0.0
            assert max(scores.values()) > 0.0


@pytest.mark.parametrize("text", ["restart_workers()", '"one by one"', "tammar.wallaby_name"])
def test_exact_leg_finds_nothing(vault, empty_scope, full_scope, text):
    with mirror_source(vault.workspace, full_scope).open() as view:
        assert len(ExactLeg(view, text).search(100).ids) > 0
    with mirror_source(vault.workspace, empty_scope).open() as view:
        assert len(ExactLeg(view, text).search(100).ids) == 0


@pytest.fixture
def codes(vault, full_scope, settings, monkeypatch, tmp_path):
    """Let this process scan the vectors by their codes."""
    settings.KEBAB_CODES_FROM = 1
    cache = CodeCache(lambda workspace_id: tmp_path / "codes")
    cache.build(vault.workspace.pk, full_scope.space)
    monkeypatch.setattr(nearest, "code_cache", lambda: cache)
    monkeypatch.setattr(nearest, "_find_exactly", None)


@pytest.mark.parametrize("trusts_mirror", [False, True])
@pytest.mark.parametrize("way", ["by codes", "by the index", "by comparing all"])
def test_vector_leg_finds_nothing(vault, empty_scope, full_scope, chunk_ids, request, way, trusts_mirror):
    if way == "by codes":
        request.getfixturevalue("codes")
    vector = configured_embedder().embed_query("image")
    point = QueryPoint(replace(full_scope.space, is_indexed=way == "by the index"), vector)
    counts = []
    for scope in (full_scope, empty_scope):
        corpus = Corpus(vault.workspace, scope, trusts_mirror=trusts_mirror)
        counts.append(len(corpus.find_nearest(point, 100).ids))
    assert counts == [len(chunk_ids), 0]


@pytest.mark.parametrize("trusts_mirror", [False, True])
def test_no_candidate_is_visible(vault, empty_scope, full_scope, chunk_ids, trusts_mirror):
    ids = pack_ids(sorted(chunk_ids))
    for scope, is_visible in ((full_scope, True), (empty_scope, False)):
        corpus = Corpus(vault.workspace, scope, trusts_mirror=trusts_mirror)
        assert corpus.check_visible(ids).tolist() == [is_visible] * len(ids)


def test_reads_by_id_return_nothing(empty_scope, full_scope, chunk_ids):
    ids = pack_ids(sorted(chunk_ids))
    assert read_visible(full_scope, ids).all()
    assert not read_visible(empty_scope, ids).any()
    for read in (read_documents, read_hits, read_passages, read_chunks):
        assert len(read(full_scope, chunk_ids)) == len(chunk_ids)
        assert read(empty_scope, chunk_ids) == {}


def test_chunk_and_document_lookups_return_nothing(empty_scope, full_scope):
    assert chunks_in_scope(full_scope).exists() and documents_in_scope(full_scope).exists()
    assert not chunks_in_scope(empty_scope).exists()
    assert not documents_in_scope(empty_scope).exists()


def test_no_completion_or_spelling_suggestion_is_made(vault, empty_scope):
    with mirror_source(vault.workspace, empty_scope).open() as view:
        vocabulary = Vocabulary(view)
        assert outlines(vocabulary, ["chapter"]) == []
        assert completions(vocabulary, ["restar"]) == []
        assert vocabulary.sample("image", 10) == []
        assert suggest_query(view, "imaeg restrat", partial(read_passages, empty_scope)) is None
