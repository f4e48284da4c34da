"""Context packs of a real Python package and of documents: expanded, packed, cited, within the budget."""

import itertools
from dataclasses import fields

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from search.context import BudgetUse, ContextPack, PackedDocument, PackedText
from search.context.types import OutlinedFile, Overview, Symbol
from search.embedders.tokenizer import TokenCounter
from search.retrieval.expansion import Reached
from search.wire.schemas import load_schema
from tests.integration.search.context.filling import cited_lines, index, json_package, put
from tests.support.corpus import chunk, write

GUIDE = """# Guide

Before you begin, read this.

## Install

Get the installer from the kitchen.

## Linux

Run apt and wait for the pepper.

## Windows

Double-click the installer.

# Reference

Nothing to see of skewers.
"""


def segments_of(pack):
    return [segment for file in pack["files"] for segment in file["segments"]]


def chunks_of(pack):
    return [each for segment in segments_of(pack) for each in segment["chunks"]]


def reached_by(pack):
    return {each["reached_by"] for each in chunks_of(pack)}


PACK = load_schema("context_pack.v1")["properties"]
FILE = PACK["files"]["items"]["properties"]
SEGMENT = FILE["segments"]["items"]["properties"]
OVERVIEW = PACK["overview"]["anyOf"][1]["properties"]
OUTLINED = OVERVIEW["files"]["items"]["properties"]


@pytest.mark.parametrize(
    ("type_", "properties", "also"),
    [
        (ContextPack, PACK, {"schema_version"}),
        (BudgetUse, PACK["budget"]["properties"], set()),
        (PackedDocument, FILE, set()),
        (PackedText, SEGMENT, set()),
        (Reached, SEGMENT["chunks"]["items"]["properties"], set()),
        (Overview, OVERVIEW, set()),
        (OutlinedFile, OUTLINED, set()),
        (Symbol, OUTLINED["symbols"]["items"]["properties"], set()),
    ],
)
def test_the_schema_has_every_field_of_a_pack_and_no_other(type_, properties, also):
    assert set(properties) == {field.name for field in fields(type_)} | also


@pytest.fixture
def package(workspace):
    files = json_package()
    for path, text in files.items():
        put(workspace, path, text)
    index(workspace)
    return files


def test_a_pack_of_a_package_says_what_it_was_made_from(package, ask_for):
    pack = ask_for("How are control characters in strings refused?", technical_terms=["JSONDecodeError"])
    assert pack["files"][0]["doc_path"] in package
    assert pack["technical_terms"] == ["JSONDecodeError"]
    assert pack["mode"] == "hybrid" and pack["seq"] == len(package) and pack["lag"] == 0
    assert pack["degraded"] == [] and pack["rerank"] is None


def test_cited_lines_are_exactly_the_text(package, ask_for):
    segments = [
        (package[file["doc_path"]], segment)
        for request in ("decode a document", "iterencode floats", "command line tool", "raw_decode scanner")
        for file in ask_for(request)["files"]
        for segment in file["segments"]
    ]
    assert len(segments) > 8
    for text, segment in segments:
        assert segment["verbatim"]
        assert segment["text"] == cited_lines(text, segment)


def test_segments_of_a_file_are_in_order_and_apart_and_three_at_most(package, ask_for):
    pack = ask_for("decode encode scan string", expand={"neighbours": 2})
    assert pack["files"]
    for file in pack["files"]:
        spans = [(each["citation"]["start"], each["citation"]["end"]) for each in file["segments"]]
        assert len(spans) <= 3
        assert all(end + 1 < start for (_, end), (start, _) in itertools.pairwise(spans))
        assert file["score"] == max(segment["score"] for segment in file["segments"])
    scores = [file["score"] for file in pack["files"]]
    assert scores == sorted(scores, reverse=True)


def test_a_chunk_is_in_a_pack_once(package, ask_for):
    ids = [each["chunk_id"] for each in chunks_of(ask_for("decode", expand={"neighbours": 3}))]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("unit", ["chars", "tokens"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(total=st.integers(1, 4_000))
def test_a_budget_is_never_exceeded_and_counts_what_is_given(package, ask_for, unit, total):
    size_of = len if unit == "chars" else TokenCounter().count
    pack = ask_for("How are strings decoded and scanned?", budget={unit: total})
    sizes = [size_of(segment["text"]) for segment in segments_of(pack)]
    assert [segment["size"] for segment in segments_of(pack)] == sizes
    assert sum(sizes) == pack["budget"]["used"] <= total == pack["budget"]["total"]
    assert pack["budget"]["unit"] == unit
    for file in pack["files"]:
        for segment in file["segments"]:
            assert segment["text"] == cited_lines(package[file["doc_path"]], segment)


def test_a_larger_budget_holds_more_and_leaves_less_out(package, ask_for):
    small, large = (ask_for("decode strings", budget=size) for size in (1_500, 50_000))
    assert 0 < small["budget"]["used"] < large["budget"]["used"]
    assert small["left_out"] > large["left_out"]
    assert len(chunks_of(small)) + small["left_out"] == len(chunks_of(large)) + large["left_out"]


def test_a_bare_number_is_a_budget_of_characters(package, ask_for):
    assert ask_for("decode", budget=900) | {"took_ms": 0} == ask_for("decode", budget={"chars": 900}) | {
        "took_ms": 0
    }


def test_without_a_budget_there_are_ten_thousand_tokens(package, ask_for):
    budget = ask_for("decode")["budget"]
    assert (budget["unit"], budget["total"]) == ("tokens", 10_000)


def test_tokens_are_the_model_s_or_estimated_where_it_is_missing(package, ask_for, monkeypatch):
    assert ask_for("decode")["budget"]["counted_by"] == "model"
    monkeypatch.setattr("search.embedders.tokenizer._counting_tokenizer", lambda: None)
    estimated = ask_for("decode", budget={"tokens": 700})
    assert estimated["budget"]["counted_by"] == "estimate"
    assert 0 < estimated["budget"]["used"] <= 700
    assert ask_for("decode", budget={"chars": 700})["budget"]["counted_by"] == "code points"


def test_a_budget_too_small_for_any_passage_is_said_so(package, ask_for):
    pack = ask_for("decode", budget=3)
    assert pack["files"] == [] and pack["budget"]["used"] == 0 and pack["left_out"] > 0
    assert pack["warnings"] == ["Nothing that was found fits into 3 chars; ask with a larger budget."]


def test_what_nothing_is_found_for_is_an_empty_pack_without_a_warning(package, ask_for):
    pack = ask_for("zyzzyva", mode="lexical")
    assert (pack["files"], pack["warnings"], pack["left_out"]) == ([], [], 0)


def test_a_blank_request_finds_nothing_unless_it_has_terms(package, ask_for):
    assert ask_for("  ")["files"] == []
    assert ask_for("", technical_terms=["JSONDecodeError"], mode="lexical")["files"] != []


def test_the_terms_lead_the_search_by_words(package, ask_for):
    assert ask_for("zyzzyva", technical_terms=["c_make_encoder"], mode="lexical")["files"] != []
    assert ask_for("zyzzyva", channels={"lexical": "c_make_encoder"}, mode="lexical")["files"] != []
    given = ask_for("decode", technical_terms=["b ", " ", "a", "b"])
    assert given["technical_terms"] == ["b", "a"]


def test_a_lone_hit_has_its_heading_and_its_own_score(workspace, ask_for):
    put(workspace, "guide.md", GUIDE)
    index(workspace)
    pack = ask_for("pepper", mode="lexical", expand={"neighbours": 0, "siblings": False})
    [segment] = segments_of(pack)
    assert segment["text"] == "## Linux\n\nRun apt and wait for the pepper."
    assert segment["citation"]["uri"] == "guide.md#L9-L11"
    assert segment["citation"]["section"] == "Linux"
    assert segment["reached_by"] == "hit" and pack["files"][0]["score"] == segment["score"]


def test_neighbours_come_with_four_fifths_of_the_score_and_join_the_hit(workspace, ask_for):
    put(workspace, "guide.md", GUIDE)
    index(workspace)
    pack = ask_for("pepper", mode="lexical", expand={"siblings": False})
    [segment] = segments_of(pack)
    score = segment["score"]
    assert segment["citation"]["uri"] == "guide.md#L5-L15"
    assert segment["text"] == "\n".join(GUIDE.split("\n")[4:15])
    assert [(each["reached_by"], each["score"]) for each in segment["chunks"]] == [
        ("neighbour", pytest.approx(score * 0.8)),
        ("hit", score),
        ("neighbour", pytest.approx(score * 0.8)),
    ]


def test_two_steps_to_a_neighbour_lower_its_score_twice(workspace, ask_for):
    put(workspace, "guide.md", GUIDE)
    index(workspace)
    pack = ask_for("pepper", mode="lexical", expand={"neighbours": 2, "siblings": False})
    first, *_, last = chunks_of(pack)
    score = segments_of(pack)[0]["score"]
    assert first["score"] == last["score"] == pytest.approx(score * 0.64)


def test_siblings_are_the_others_under_the_same_parent(workspace, ask_for):
    put(workspace, "guide.md", GUIDE)
    index(workspace)
    pack = ask_for("pepper", mode="lexical", expand={"neighbours": 0})
    score = segments_of(pack)[0]["score"]
    assert [(each["reached_by"], each["score"]) for each in chunks_of(pack)] == [
        ("sibling", pytest.approx(score * 0.7)),
        ("hit", score),
        ("sibling", pytest.approx(score * 0.7)),
    ]
    text = segments_of(pack)[0]["text"]
    assert "Install" in text and "Windows" in text and "skewers" not in text and "begin" not in text


def test_siblings_of_code_are_the_units_beside_it_and_code_in_none_has_none(workspace, ask_for):
    body = "\n".join(f"        self.value_{n} = self.other_{n} + {n}" for n in range(12))
    methods = "\n".join(f"    def {name}(self):\n{body}\n" for name in ("pepper", "salt"))
    put(
        workspace,
        "spice.py",
        f"class Spice:\n{methods}\n\ndef thyme(value):\n{body.replace('        ', '    ')}\n",
    )
    put(workspace, "spice.kt", "fun cumin() {}\n" + "val other = first + second\n" * 90)
    index(workspace)
    pack = ask_for("pepper", mode="lexical", expand={"neighbours": 0})
    assert [each["reached_by"] for each in chunks_of(pack)] == ["hit", "sibling"]
    assert "def salt" in segments_of(pack)[0]["text"] and "thyme" not in segments_of(pack)[0]["text"]
    assert reached_by(ask_for("cumin", mode="lexical", expand={"neighbours": 0})) == {"hit"}


def test_what_surrounds_a_hit_is_of_its_own_document(workspace, ask_for):
    put(workspace, "a.md", GUIDE)
    put(workspace, "b.md", GUIDE.replace("pepper", "salt"))
    index(workspace)
    pack = ask_for("pepper", mode="lexical", expand={"neighbours": 5})
    assert [file["doc_path"] for file in pack["files"]] == ["a.md"]


@pytest.mark.parametrize("filters", [{"kind": ["code"]}, {"tags_any": ["kept"]}])
def test_what_surrounds_the_hits_is_under_their_filters(workspace, ask_for, filters):
    def as_code(text, ordinal):
        return chunk(text, ordinal, kind="code", language="python")

    write(workspace, "a.py", as_code("pepper one", 0), chunk("two", 1), as_code("three", 2), tags=("kept",))
    index(workspace)
    pack = ask_for("pepper", mode="lexical", filters=filters, expand={"neighbours": 2})
    assert len(chunks_of(pack)) == (2 if "kind" in filters else 3)


def test_a_filter_that_nothing_passes_gives_an_empty_pack(package, ask_for):
    assert ask_for("decode", filters={"lang": ["tlh"]})["files"] == []
    assert ask_for("decode", filters={"path_glob": ["json/scanner.py"]})["files"][0]["doc_path"] == (
        "json/scanner.py"
    )


def test_a_document_whose_bytes_are_gone_is_given_as_passages(workspace, ask_for):
    write(workspace, "a.md", "pepper one", "two", "three")
    index(workspace)
    segments = segments_of(ask_for("pepper", mode="lexical"))
    assert [segment["text"] for segment in segments] == ["pepper one", "two", "three"]
    assert not any(segment["verbatim"] for segment in segments)


def test_what_is_not_cited_by_line_keeps_its_citation(workspace, ask_for):
    pages = [chunk(f"pepper {n}", n, spans=({"kind": "page", "page": n // 2 + 1},)) for n in range(4)]
    write(workspace, "a.pdf", *pages, media="pdf")
    index(workspace)
    segments = segments_of(ask_for("pepper", mode="lexical"))
    assert [(segment["citation"]["uri"], segment["text"]) for segment in segments] == [
        ("a.pdf#page=1", "pepper 0\npepper 1"),
        ("a.pdf#page=2", "pepper 2\npepper 3"),
    ]
    assert not any(segment["verbatim"] for segment in segments)


def test_a_page_of_html_is_given_as_it_reads(workspace, ask_for):
    put(workspace, "a.html", "<html><body><h1>Spices</h1><p>Much pepper.</p><p>Salt</p></body></html>")
    index(workspace)
    [segment] = segments_of(ask_for("pepper", mode="lexical"))
    assert not segment["verbatim"] and "Much pepper." in segment["text"] and "<p>" not in segment["text"]


def test_a_line_that_is_several_chunks_is_given_once_and_whole(workspace, ask_for):
    line = " ".join(f"pepper{n} is ground and then roasted slowly." for n in range(60))
    put(workspace, "a.md", f"# Spices\n\n{line}\n")
    index(workspace)
    [segment] = segments_of(ask_for("roasted", mode="lexical"))
    assert segment["verbatim"] and segment["text"] == f"# Spices\n\n{line}"
    assert len(segment["chunks"]) > 1


def test_a_line_too_long_to_be_given_whole_is_given_by_its_chunks(workspace, ask_for):
    line = " ".join(f"word{n} is ground and then roasted slowly." for n in range(400))
    put(workspace, "a.md", f"{line}\n")
    index(workspace)
    [segment] = segments_of(ask_for("word3", mode="lexical"))
    assert not segment["verbatim"] and segment["citation"]["uri"] == "a.md#L1"
    assert segment["text"].startswith("word0 ") and len(segment["text"]) < len(line)


def test_windows_line_ends_are_line_ends(workspace, ask_for):
    put(workspace, "guide.md", GUIDE.replace("\n", "\r\n"))
    index(workspace)
    [segment] = segments_of(ask_for("pepper", mode="lexical", expand={"siblings": False}))
    assert segment["verbatim"] and segment["text"] == cited_lines(GUIDE, segment)


def test_at_most_so_many_hits_of_a_file_as_the_workspace_says(workspace, ask_for):
    for path in ("a.md", "b.md"):
        write(workspace, path, *(f"pepper {'salt ' * n}" for n in range(7)))
    index(workspace)

    def hits(**body):
        pack = ask_for("pepper", mode="lexical", expand={"neighbours": 0, "siblings": False}, **body)
        return max(sum(len(segment["chunks"]) for segment in file["segments"]) for file in pack["files"])

    assert hits(cutoff=False) == 3  # segments apart from each other, three a file
    assert hits(cutoff=False, per_file_cap=1) == 1
    workspace.settings = {"pre_rerank_max_per_file": 2}
    workspace.save(update_fields=["settings"])
    assert hits(cutoff=False) == 2


def test_the_same_request_gives_the_same_pack(package, ask_for):
    first, second = (ask_for("decode strings", budget=3_000) for _ in range(2))
    assert first | {"took_ms": 0} == second | {"took_ms": 0}
