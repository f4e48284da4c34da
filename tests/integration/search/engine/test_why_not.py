"""The gate at which a chunk was dropped; nothing is reported about hidden chunks."""

import pytest

from search.corpus import delete_documents
from search.models import Chunk, Document
from search.retrieval.query.filters import ChunkKind
from search.retrieval.types import Fusion, Mode
from tests.support.corpus import chunk, make_workspace, write
from tests.support.runtime import use_reranker
from tests.support.search import ask, embed, sync


def chunk_of(workspace, path, ordinal=0):
    return Chunk.objects.in_workspace(workspace).get(document__path=path, ordinal=ordinal).chunk_id.hex


def document_of(workspace, path):
    return Document.objects.in_workspace(workspace).get(path=path).doc_id


def verdict(workspace, target, text="apple", mode=Mode.LEXICAL, **options):
    result = ask(workspace, text, mode, why_not=target, **options)
    return result.explain["why_not"]


@pytest.fixture
def orchard(workspace):
    """Return a workspace of three documents: one with the word, one without, one of code."""
    write(workspace, "a.md", "apple")
    write(workspace, "pear.md", "pear")
    write(workspace, "a.py", chunk("apple", kind="code", language="python"))
    sync(workspace)
    return workspace


def test_hit_is_returned_with_its_ranks(orchard):
    reported = verdict(orchard, chunk_of(orchard, "a.md"), lang=("en",), path_glob=("*.md",))
    assert (reported["gate"], reported["fused_rank"], reported["ranks"]) == ("returned", 1, {"lexical": 1})


def test_why_not_answers_for_a_hidden_chunk_like_a_missing_one(orchard):
    missing = verdict(orchard, "0" * 32)
    assert missing["gate"] == verdict(orchard, "f" * 32)["gate"] == "unknown"
    other = make_workspace()
    write(other, "secret.md", "apple")
    deleted = chunk_of(orchard, "a.md")
    delete_documents(orchard, [document_of(orchard, "a.md")])
    for target in (chunk_of(other, "secret.md"), deleted):
        assert {**verdict(orchard, target), "id": None} == {**missing, "id": None}


@pytest.mark.parametrize(
    ("path", "filters", "named"),
    [
        ("a.md", {"path_glob": ("b/*.md",), "lang": ("xx",)}, ["path_glob", "lang"]),
        ("a.md", {"path_not_glob": ("*.md",)}, ["path_not_glob"]),
        ("a.py", {"code_lang": ("rust",)}, ["code_lang"]),
    ],
)
def test_filter_that_stops_a_chunk_is_named(orchard, path, filters, named):
    reported = verdict(orchard, chunk_of(orchard, path), **filters)
    assert reported["gate"] == "filtered"
    assert all(name in reported["detail"] for name in named)


def test_change_that_is_not_mirrored_yet_is_named_with_its_number(orchard):
    write(orchard, "b.md", "apple")
    reported = verdict(orchard, chunk_of(orchard, "b.md"))
    assert reported["gate"] == "not_indexed"
    assert "change 4" in reported["detail"] and "come to 3" in reported["detail"]


def test_chunk_without_the_words_or_a_vector_is_reported(orchard):
    assert verdict(orchard, chunk_of(orchard, "pear.md"))["gate"] == "no_query_term"
    embed(orchard)
    write(orchard, "b.md", "plum")
    write(orchard, "tree.md", "apple tree")
    sync(orchard)
    reported = verdict(orchard, chunk_of(orchard, "b.md"), mode=Mode.HYBRID)
    assert reported["gate"] == "no_query_term" and "vector is still missing" in reported["detail"]
    by_vectors = verdict(orchard, chunk_of(orchard, "tree.md"), mode=Mode.VECTOR)
    assert by_vectors["gate"] == "outside_window"
    assert "vector is still missing" in by_vectors["detail"] and "word" not in by_vectors["detail"]


def test_chunk_behind_the_last_hit_is_outside_the_window_with_its_rank(workspace):
    write(workspace, "a.md", *(f"apple {'pear ' * n}" for n in range(90)))
    sync(workspace)
    for ordinal, options in ((82, {}), (4, {"k": 2})):
        reported = verdict(workspace, chunk_of(workspace, "a.md", ordinal), **options)
        assert (reported["gate"], reported["fused_rank"]) == ("outside_window", ordinal + 1)
        assert str(ordinal + 1) in reported["detail"] and str(options.get("k", 10)) in reported["detail"]
    assert verdict(workspace, chunk_of(workspace, "a.md", 2), per_file_cap=1)["gate"] == "cap"


def test_chunk_removed_by_the_cutoff_is_reported(workspace):
    for n in range(10):
        write(workspace, f"{n}.md", f"apple {'pear ' * n}")
    sync(workspace)
    reported = verdict(workspace, chunk_of(workspace, "9.md"), cutoff=True, per_file_cap=0)
    assert reported["gate"] == "cutoff"


def test_document_is_reported_by_the_chunk_that_came_furthest(workspace):
    write(workspace, "a.md", "pear", "apple")
    write(workspace, "b.md", chunk("pear", kind="code", language="python"), chunk("pear", 1))
    sync(workspace)
    reported = verdict(workspace, document_of(workspace, "a.md").hex)
    assert (reported["gate"], reported["chunk_id"]) == ("returned", chunk_of(workspace, "a.md", 1))
    reported = verdict(workspace, document_of(workspace, "b.md").hex, kind=(ChunkKind.INFO,))
    assert (reported["gate"], reported["chunk_id"]) == ("no_query_term", chunk_of(workspace, "b.md", 1))


class WordReranker:
    """A reranker that likes the passages with a word best."""

    name, gives_logits = "likes a word", False

    def __init__(self, word):
        self.word = word

    def rerank(self, query, passages):
        return [0.9 if self.word in passage else 0.1 for passage in passages]


def test_document_is_a_hit_by_a_later_chunk_though_its_first_is_cut(workspace, monkeypatch):
    use_reranker(monkeypatch, WordReranker("fig"))
    write(workspace, "a.md", "apple apple apple", "apple apple fig")
    write(workspace, "b.md", "apple pear pear pear")
    sync(workspace)
    reported = verdict(workspace, document_of(workspace, "a.md").hex, rerank=True, cutoff=True)
    assert (reported["gate"], reported["chunk_id"]) == ("returned", chunk_of(workspace, "a.md", 1))
    assert reported["fused_rank"] == 2


def test_why_not_reports_a_hit_of_the_vector_leg_before_the_mirror_has_it(orchard):
    write(orchard, "b.md", "apple")
    embed(orchard)
    reported = verdict(orchard, chunk_of(orchard, "b.md"), mode=Mode.HYBRID)
    assert (reported["gate"], list(reported["ranks"])) == ("returned", ["vector"])


def test_explain_lists_what_cap_and_cutoff_took_out_and_which_rule_found_each(workspace):
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
    assert explain["timings_ms"].keys() == {"lexical", "vector", "exact", "fusion"}
    assert "why_not" not in explain
    write(workspace, "b.md", "plum")
    lagging = ask(workspace, "apple", Mode.HYBRID, explain=True, fusion=Fusion.RRF).explain
    assert lagging["timings_ms"].keys() == {"lexical", "vector", "exact", "read_back", "fusion"}


def test_explain_names_title_completion_and_correction(workspace):
    write(workspace, "a.md", "Ferries leave at noon.", title="Harbour timetable")
    write(workspace, "b.md", "The timetable of the harbour is of no use to ferries.")
    embed(workspace)
    sync(workspace)
    titled = ask(workspace, "harbour timetable", Mode.HYBRID, explain=True).explain
    assert titled["titled"] == [chunk_of(workspace, "a.md")]
    assert (titled["completed"], titled["corrected"]) == (None, None)
    typing = ask(workspace, "noon harb", Mode.HYBRID, explain=True, prefix=True).explain
    assert typing["completed"] == {"word": "harb", "terms": ["harb", "harbour"]}
    assert typing["titled"] == []
    corrected = ask(workspace, "noon timetabel ", Mode.HYBRID, explain=True, prefix=True).explain
    assert (corrected["corrected"], corrected["completed"]) == ("noon timetable ", None)
