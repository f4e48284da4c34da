"""Hybrid search, and the final read-back from Postgres."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from search.corpus import delete_documents, update_document_fields
from search.mirror import local_mirrors
from search.mirror.sync.sync import rebuild_mirror
from search.models import ChunkVector, Document
from search.retrieval.types import Fusion, Mode
from search.wire import hit_to_wire
from tests.support.corpus import chunk, write, write_each
from tests.support.search import ask, embed, paths, sync

QUERY = "apple harvest"


def wire(result):
    return json.dumps([hit_to_wire(hit) for hit in result.hits], ensure_ascii=False)


def ranks(result):
    return {hit.doc_path: (hit.retrieval.lexical_rank, hit.retrieval.vector_rank) for hit in result.hits}


def fill(workspace):
    """Write ten documents that both legs rank."""
    write_each(
        workspace, [f"{'apple ' * (n % 4)}{'harvest ' * (n % 3)}filler{n} words{n}" for n in range(10)]
    )


@pytest.fixture
def orchard(workspace):
    fill(workspace)
    sync(workspace)
    embed(workspace)
    return workspace


def delete(workspace, path):
    delete_documents(workspace, [Document.objects.in_workspace(workspace).get(path=path).doc_id])


def test_first_place_in_both_legs_scores_one(workspace):
    write(workspace, "best.md", "apple harvest")
    write(workspace, "second.md", "apple harvest and then something else entirely")
    sync(workspace)
    embed(workspace)
    result = ask(workspace, QUERY, Mode.HYBRID, fusion=Fusion.RRF)
    assert ranks(result) == {"best.md": (1, 1), "second.md": (2, 2)}
    assert [round(hit.retrieval.fusion_score, 6) for hit in result.hits] == [1.0, 0.983871]


@pytest.mark.parametrize("rrf_k", [None, 1])
def test_scores_are_reciprocal_rank_fusion_of_the_ranks_with_the_workspace_s_k(filled, rrf_k):
    filled.settings = {} if rrf_k is None else {"rrf_k": rrf_k}
    filled.save()
    result = ask(filled, QUERY, Mode.HYBRID, fusion=Fusion.RRF)
    k = rrf_k or 60
    for hit in result.hits:
        terms = [1 / (k + rank) for rank in ranks(result)[hit.doc_path] if rank is not None]
        assert hit.retrieval.fusion_score == pytest.approx(sum(terms) / (2 / (k + 1)), abs=1e-9)
    assert [hit.score for hit in result.hits] == sorted((hit.score for hit in result.hits), reverse=True)


def test_leg_ranks_of_hybrid_hits_equal_the_ranks_of_single_modes(filled):
    fused = ranks(ask(filled, QUERY, Mode.HYBRID, k=100))
    for mode, leg in ((Mode.LEXICAL, 0), (Mode.VECTOR, 1)):
        ranked = {path: both[leg] for path, both in fused.items() if both[leg]}
        assert sorted(ranked, key=ranked.get) == paths(ask(filled, QUERY, mode, k=100))


def test_hybrid_returns_hits_found_by_one_leg_only(workspace):
    write(workspace, "words.md", "apple")
    sync(workspace)
    write(workspace, "meaning.md", "orange apple")  # embedded, and not mirrored yet
    embed(workspace)
    chunks = Document.objects.in_workspace(workspace).get(path="words.md").chunks
    ChunkVector.objects.filter(chunk_id__in=chunks.values("chunk_id")).delete()
    result = ask(workspace, "apple", Mode.HYBRID, fusion=Fusion.RRF)
    assert ranks(result) == {"words.md": (1, None), "meaning.md": (None, 1)}
    assert [hit.retrieval.fusion_score for hit in result.hits] == [0.5, 0.5]
    assert paths(result) == ["words.md", "meaning.md"]


def test_vectors_order_the_list_where_words_find_nothing(filled):
    fused, by_meaning = (ask(filled, "zzz", mode).hits for mode in (Mode.HYBRID, Mode.VECTOR))
    assert [hit.chunk_id for hit in fused] == [hit.chunk_id for hit in by_meaning]


def test_lexical_order_holds_between_a_write_and_its_vectors(workspace):
    """Rank the chunk with all terms first, although the rare word of the other weighs more than both."""
    write(workspace, "some.md", "harvest harvest harvest")
    write(workspace, "all.md", "apple harvest " + "and many other words " * 40)
    write_each(workspace, [f"apple filler{n}" for n in range(10)])
    sync(workspace)
    alone = ask(workspace, QUERY, Mode.LEXICAL, k=100)
    result = ask(workspace, QUERY, Mode.HYBRID, k=100, explain=True)
    assert paths(alone)[:2] == ["all.md", "some.md"]
    assert alone.hits[0].retrieval.fusion_score < alone.hits[1].retrieval.fusion_score
    assert alone.hits[0].score == alone.hits[1].score
    assert paths(result) == paths(alone)
    assert [each["rrf_terms"].keys() for each in result.explain["fused"]] == [{"lexical"}] * 12
    assert [hit.retrieval.tier for hit in result.hits] == ["all"] + ["some"] * 11


def test_mirror_with_a_history_answers_the_same_bytes_as_a_fresh_one(orchard):
    for n in range(4):
        write(orchard, f"00{n}.md", f"apple replaced {n}")
        sync(orchard)
    delete(orchard, "005.md")
    sync(orchard)
    embed(orchard)
    followed = [wire(ask(orchard, QUERY, mode)) for mode in Mode]
    assert [wire(ask(orchard, QUERY, mode)) for mode in Mode] == followed
    rebuild_mirror(local_mirrors.mirror_files(orchard.pk), orchard.pk)
    assert [wire(ask(orchard, QUERY, mode)) for mode in Mode] == followed


def test_deleted_document_is_not_shown_though_the_mirror_still_has_it(filled):
    for mode in Mode:
        before = paths(ask(filled, QUERY, mode, k=100, fusion=Fusion.RRF))
        delete(filled, before[0])
        after = ask(filled, QUERY, mode, k=100, fusion=Fusion.RRF)
        assert paths(after) == before[1:], mode
        assert [hit.rank for hit in after.hits] == list(range(1, len(before)))


def test_fields_come_from_postgres_though_the_mirror_is_behind(workspace):
    write(workspace, "a.md", chunk("apple", heading="Old"))
    sync(workspace)
    moved = chunk("apple", heading="New", spans=({"kind": "line", "start": 7, "end": 12},))
    write(workspace, "a.md", moved, title="Title")
    update_document_fields(
        Document.objects.in_workspace(workspace).get(), tags=["fresh"], trust_level="primary"
    )
    (hit,) = ask(workspace, "apple").hits
    assert (hit.section_label, hit.title, hit.tags) == ("New", "Title", ("fresh",))
    assert (hit.trust_level, hit.citation.uri) == ("primary", "a.md#L7-L12")


def test_cap_keeps_so_many_of_one_document_in_order(workspace):
    write(workspace, "a.md", *["apple apple"] * 5)
    write(workspace, "b.md", *["apple pear plum fig"] * 3)
    sync(workspace)
    embed(workspace)
    whole = ask(workspace, "apple", k=8).hits
    assert [hit.doc_path for hit in whole] == ["a.md"] * 5 + ["b.md"] * 3
    capped = ask(workspace, "apple", k=8, per_file_cap=2).hits
    assert [hit.chunk_id for hit in capped] == [whole[n].chunk_id for n in (0, 1, 5, 6)]
    assert [hit.rank for hit in capped] == [1, 2, 3, 4]
    for cap in (None, 0, -1):
        assert len(ask(workspace, "apple", k=8, per_file_cap=cap).hits) == 8
    hybrid = ask(workspace, "apple", Mode.HYBRID, k=3, per_file_cap=1).hits
    assert sorted(hit.doc_path for hit in hybrid) == ["a.md", "b.md"]


def test_explain_shows_the_legs_and_the_fusion_and_nothing_hidden(filled):
    delete(filled, paths(ask(filled, QUERY))[0])
    result = ask(filled, QUERY, Mode.HYBRID, explain=True)
    standing = {hit.chunk_id for hit in ask(filled, QUERY, Mode.VECTOR, k=100).hits}
    explained = result.explain
    assert set(explained["legs"]) == {"lexical", "vector"}
    for listed in explained["legs"].values():
        assert [entry["rank"] for entry in listed] == list(range(1, len(listed) + 1))
        assert {entry["chunk_id"] for entry in listed} <= standing
    fused = [entry["chunk_id"] for entry in explained["fused"]]
    assert fused[: len(result.hits)] == [hit.chunk_id for hit in result.hits]
    assert "read_back" in explained["timings_ms"]
    assert json.dumps(explained)
    assert ask(filled, QUERY, Mode.HYBRID).explain is None


def test_old_documents_are_stale_unless_the_workspace_says_otherwise(filled):
    old = timezone.now() - timedelta(days=31)
    Document.objects.in_workspace(filled).filter(path="001.md").update(indexed_at=old)
    assert {hit.doc_path for hit in ask(filled, QUERY, k=100).hits if hit.stale} == {"001.md"}
    filled.settings = {"stale_after_days": 0}
    filled.save()
    assert not any(hit.stale for hit in ask(filled, QUERY, k=100).hits)
