"""At which gate something fell: each gate once, and nothing about what the caller may not see."""

import pytest

from search.corpus import delete_documents
from search.models import Chunk, Document
from search.retrieval.filters import ChunkKind
from search.retrieval.types import Fusion, Mode
from tests.support.corpus import chunk, make_workspace, write
from tests.support.searching import ask, embed, sync


def chunk_of(workspace, path, ordinal=0):
    return Chunk.objects.in_workspace(workspace).get(document__path=path, ordinal=ordinal).chunk_id.hex


def verdict(workspace, target, text="apple", mode=Mode.LEXICAL, **options):
    result = ask(workspace, text, mode, why_not=target, **options)
    return result.explain["why_not"]


def test_what_is_a_hit_is_said_to_be_one(workspace):
    write(workspace, "a.md", "apple")
    sync(workspace)
    said = verdict(workspace, chunk_of(workspace, "a.md"))
    assert (said["gate"], said["fused_rank"], said["ranks"]) == ("returned", 1, {"lexical": 1})


@pytest.mark.parametrize("target", ["0" * 32, "f" * 32])
def test_what_does_not_exist_is_unknown(workspace, target):
    write(workspace, "a.md", "apple")
    sync(workspace)
    assert verdict(workspace, target)["gate"] == "unknown"


def test_another_workspace_s_chunk_answers_as_one_that_does_not_exist(workspace):
    other = make_workspace()
    write(other, "secret.md", "apple")
    theirs, missing = (
        verdict(workspace, chunk_of(other, "secret.md")),
        verdict(workspace, "0" * 32),
    )
    assert {**theirs, "id": None} == {**missing, "id": None}


def test_a_deleted_document_is_unknown(workspace):
    write(workspace, "a.md", "apple")
    sync(workspace)
    target = chunk_of(workspace, "a.md")
    delete_documents(workspace, [Document.objects.get(path="a.md").doc_id])
    assert verdict(workspace, target)["gate"] == "unknown"


def test_a_filter_that_stops_it_is_named(workspace):
    write(workspace, "a.md", "apple")
    sync(workspace)
    said = verdict(workspace, chunk_of(workspace, "a.md"), path_glob=("b/*.md",), lang=("xx",))
    assert said["gate"] == "filtered"
    assert "path_glob" in said["detail"]
    assert "lang" in said["detail"]


def test_a_filter_that_leaves_its_path_out_is_named(workspace):
    write(workspace, "a.md", "apple")
    sync(workspace)
    said = verdict(workspace, chunk_of(workspace, "a.md"), path_not_glob=("*.md",))
    assert (said["gate"], said["detail"]) == ("filtered", "Filtered by path_not_glob.")


def test_a_filter_by_language_that_stops_a_chunk_is_named(workspace):
    write(workspace, "a.py", chunk("apple", kind="code", language="python"))
    sync(workspace)
    said = verdict(workspace, chunk_of(workspace, "a.py"), code_lang=("rust",))
    assert (said["gate"], said["detail"]) == ("filtered", "Filtered by code_lang.")


def test_what_this_node_has_not_indexed_yet_is_said_with_numbers(workspace):
    write(workspace, "a.md", "apple")
    sync(workspace)
    write(workspace, "b.md", "apple")
    said = verdict(workspace, chunk_of(workspace, "b.md"))
    assert (said["gate"], "change 2" in said["detail"], "come to 1" in said["detail"]) == (
        "not_indexed",
        True,
        True,
    )


def test_a_chunk_without_the_words_has_no_query_term(workspace):
    write(workspace, "a.md", "pear")
    sync(workspace)
    assert verdict(workspace, chunk_of(workspace, "a.md"))["gate"] == "no_query_term"


def test_a_chunk_behind_the_last_hit_is_outside_the_window(workspace):
    for n in range(5):
        write(workspace, f"{n}.md", f"apple {'pear ' * n}")
    sync(workspace)
    said = verdict(workspace, chunk_of(workspace, "4.md"), k=2)
    assert (said["gate"], said["fused_rank"]) == ("outside_window", 5)


def test_rank_83_is_outside_the_window(workspace):
    write(workspace, "a.md", *(f"apple {'pear ' * n}" for n in range(90)))
    sync(workspace)
    said = verdict(workspace, chunk_of(workspace, "a.md", 82))
    assert (said["gate"], said["fused_rank"], said["detail"]) == (
        "outside_window",
        83,
        "Rank 83, outside the window of 10.",
    )


def test_what_the_cap_took_out_is_said(workspace):
    write(workspace, "a.md", *(f"apple {'pear ' * n}" for n in range(3)))
    sync(workspace)
    assert verdict(workspace, chunk_of(workspace, "a.md", 2), per_file_cap=1)["gate"] == "cap"


def test_what_the_cutoff_took_out_is_said(workspace):
    for n in range(10):
        write(workspace, f"{n}.md", f"apple {'pear ' * n}")
    sync(workspace)
    said = verdict(workspace, chunk_of(workspace, "9.md"), cutoff=True, per_file_cap=0)
    assert said["gate"] == "cutoff"


def test_of_a_document_the_chunk_that_came_furthest_is_judged(workspace):
    write(workspace, "a.md", "pear", "apple")
    sync(workspace)
    said = verdict(workspace, Document.objects.get(path="a.md").doc_id.hex)
    assert (said["gate"], said["chunk_id"]) == ("returned", chunk_of(workspace, "a.md", 1))


def test_a_chunk_without_a_vector_is_said_to_have_none(workspace):
    write(workspace, "a.md", "apple")
    embed(workspace)
    write(workspace, "b.md", "pear")
    sync(workspace)
    said = verdict(workspace, chunk_of(workspace, "b.md"), mode=Mode.HYBRID)
    assert said["gate"] == "no_query_term"
    assert "no vector" in said["detail"]


def test_explain_says_what_cap_and_cutoff_took_out_and_which_rule_found_each(workspace):
    write(workspace, "a.md", "apple pear", "apple pear fig", *(f"apple {n}" for n in range(9)))
    sync(workspace)
    ids = [chunk_of(workspace, "a.md", ordinal) for ordinal in range(11)]
    capped = ask(workspace, "apple pear", explain=True, per_file_cap=2)
    cut = ask(workspace, "apple pear", explain=True, cutoff=True, per_file_cap=0)

    tiers = [found["tier"] for found in capped.explain["legs"]["lexical"]]
    assert tiers == ["all"] * 2 + ["some"] * 9
    fused = [found["chunk_id"] for found in capped.explain["fused"]]
    assert sorted(fused) == sorted(ids) and set(fused[:2]) == set(ids[:2])
    assert (capped.explain["over_cap"], capped.explain["below_cutoff"]) == (fused[2:], [])
    assert (cut.explain["over_cap"], cut.explain["below_cutoff"]) == ([], fused[8:])
    assert "cap" in capped.explain["timings_ms"] and "cutoff" in cut.explain["timings_ms"]


def test_explain_names_the_rule_the_lists_and_the_terms_of_the_fusion(workspace):
    write(workspace, "a.md", "apple")
    embed(workspace)
    sync(workspace)
    explain = ask(workspace, "apple", Mode.HYBRID, explain=True, fusion=Fusion.RRF).explain
    assert explain["match"]["every"] == '"apple"'
    assert [found["rank"] for found in explain["legs"]["lexical"]] == [1]
    assert explain["fused"][0]["rrf_terms"] == {"lexical": 1 / 61, "vector": 1 / 61}
    assert {"lexical", "vector", "read_back", "fusion"} <= explain["timings_ms"].keys()
    assert "why_not" not in explain


class WordsLater:
    """A reranker that likes the passages with a word best."""

    name, gives_logits = "likes a word", False

    def __init__(self, word):
        self.word = word

    def rerank(self, query, passages):
        return [0.9 if self.word in passage else 0.1 for passage in passages]


def test_by_vectors_alone_nothing_is_said_of_words(workspace):
    write(workspace, "a.md", "apple")
    embed(workspace)
    write(workspace, "b.md", "apple tree")
    said = verdict(workspace, chunk_of(workspace, "b.md"), mode=Mode.VECTOR)
    assert said["gate"] == "outside_window"
    assert said["detail"] == "It is not among the candidates: 1 by the vector leg. It has no vector yet."


def test_a_document_is_a_hit_by_a_later_chunk_though_its_first_is_cut(workspace, monkeypatch):
    monkeypatch.setattr("search.engine.configured_reranker", lambda: WordsLater("fig"))
    write(workspace, "a.md", "apple apple apple", "apple apple fig")
    write(workspace, "b.md", "apple pear pear pear")
    sync(workspace)
    target = Document.objects.get(path="a.md").doc_id.hex
    said = verdict(workspace, target, rerank=True, cutoff=True)
    assert (said["gate"], said["chunk_id"]) == ("returned", chunk_of(workspace, "a.md", 1))
    assert (said["detail"], said["fused_rank"]) == ("It is hit 1.", 2)


def test_of_a_document_a_chunk_of_another_kind_does_not_speak_for_all(workspace):
    write(workspace, "a.md", chunk("pear", kind="code", language="python"), chunk("pear", 1))
    sync(workspace)
    said = verdict(workspace, Document.objects.get(path="a.md").doc_id.hex, kind=(ChunkKind.INFO,))
    assert (said["gate"], said["chunk_id"]) == ("no_query_term", chunk_of(workspace, "a.md", 1))


def test_a_hit_by_its_vector_is_said_to_be_one_before_its_words_are_indexed(workspace):
    write(workspace, "a.md", "apple")
    sync(workspace)
    write(workspace, "b.md", "apple")
    embed(workspace)
    said = verdict(workspace, chunk_of(workspace, "b.md"), mode=Mode.HYBRID)
    assert (said["gate"], list(said["ranks"])) == ("returned", ["vector"])
