"""Hybrid search by convex combination, and the choice between it and reciprocal rank fusion."""

import numpy as np

from kebab.people.workspaces import store_settings
from search.models import ChunkVector
from search.retrieval.fusion.scores import VECTOR_SHARE, bm25_magnitudes, convex_combination, vector_share_of
from search.retrieval.types import Fusion, Mode
from tests.support.corpus import write, write_each
from tests.support.search import ask, embed, paths, sync

QUERY = "apple harvest"


def fill(workspace):
    """Write documents that the legs rank differently."""
    texts = [f"{'apple ' * (n % 4)}{'harvest ' * (n % 3)}filler{n} words{n} {'pear ' * n}" for n in range(12)]
    write_each(workspace, texts)


def scores_alone(workspace, mode):
    return {hit.chunk_id: hit.retrieval.fusion_score for hit in ask(workspace, QUERY, mode, k=100).hits}


def test_scores_are_the_mean_of_the_scaled_scores_smoothed_over_the_stored_vectors(filled):
    vector, lexical = scores_alone(filled, Mode.VECTOR), scores_alone(filled, Mode.LEXICAL)
    rows = ChunkVector.objects.in_workspace(filled).values_list("chunk_id", "embedding")
    stored = {id_.hex: np.array(embedding, np.float16) for id_, embedding in rows}
    ids = sorted(vector)
    scores = {
        "lexical": bm25_magnitudes(np.array([lexical.get(id_, 0.0) for id_ in ids])),
        "vector": np.array([vector[id_] for id_ in ids]),
    }
    vectors = np.array([stored[id_] for id_ in ids], np.float32)
    share = vector_share_of(VECTOR_SHARE, len(QUERY.split()))
    weights = dict.fromkeys(scores, 1.0)
    fused = convex_combination(scores, {}, weights, vectors_at=vectors.__getitem__, vector_share=share)
    expected = dict(zip(ids, fused.tolist(), strict=True))
    places = list(lexical)

    def order(id_):
        return -expected[id_], places.index(id_) if id_ in places else len(places), id_

    hits = ask(filled, QUERY, Mode.HYBRID, k=100, fusion=Fusion.CONVEX).hits
    assert [hit.chunk_id for hit in hits] == sorted(ids, key=order)
    assert {hit.chunk_id: hit.retrieval.fusion_score for hit in hits} == expected


def test_every_candidate_has_both_scores_where_the_legs_overlap_only_in_part(filled):
    result = ask(filled, QUERY, Mode.HYBRID, k=5, fusion=Fusion.CONVEX, explain=True)
    scores = [each["scores"] for each in result.explain["fused"]]
    assert len(scores) == 12
    assert all(each.keys() == {"lexical", "vector"} for each in scores)
    assert {0.0} < {each["lexical"] for each in scores}


def test_fusion_of_the_request_overrides_the_workspace(filled):
    convex = ask(filled, QUERY, Mode.HYBRID)
    store_settings(filled, {"fusion": "rrf"})
    filled.refresh_from_db()
    rrf = ask(filled, QUERY, Mode.HYBRID)
    assert [hit.retrieval.fusion_score for hit in convex.hits] != [
        hit.retrieval.fusion_score for hit in rrf.hits
    ]
    assert ask(filled, QUERY, Mode.HYBRID, fusion=Fusion.RRF).hits == rrf.hits
    assert ask(filled, QUERY, Mode.HYBRID, fusion=Fusion.CONVEX).hits == convex.hits


def test_fusion_changes_nothing_in_a_single_mode(filled):
    for mode in (Mode.LEXICAL, Mode.VECTOR):
        rrf, convex = (ask(filled, QUERY, mode, fusion=fusion) for fusion in Fusion)
        assert rrf.hits == convex.hits


def test_chunk_without_a_vector_is_weighed_by_its_words(workspace):
    fill(workspace)
    embed(workspace)
    write(workspace, "new.md", "apple harvest apple harvest")
    sync(workspace)
    result = ask(workspace, QUERY, Mode.HYBRID, k=100, fusion=Fusion.CONVEX)
    new = next(hit for hit in result.hits if hit.doc_path == "new.md")
    assert new.retrieval.vector_rank is None
    assert 0 < new.score < 1


def test_order_without_vectors_is_lexical(workspace):
    write_each(workspace, ["apple", "apple harvest", "harvest of pears and more"])
    sync(workspace)
    convex = ask(workspace, QUERY, Mode.HYBRID, fusion=Fusion.CONVEX)
    assert paths(convex) == paths(ask(workspace, QUERY))
