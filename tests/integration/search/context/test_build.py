"""Context packs of a real Python package: packed, cited, within the budget."""

import itertools
from dataclasses import fields

import pytest

from kebab.http.api.openapi_schema import load_schema
from kebab.identity.reader import Reader
from search.context import (
    Budget,
    BudgetUnit,
    BudgetUse,
    CodeRequest,
    ContextPack,
    PackedDocument,
    PackedText,
    ResponseMode,
    pack_text,
    retrieve_code,
)
from search.context.overview import NOTHING_FOUND
from search.context.types import OutlinedFile, Overview, Symbol
from search.embedders.bert.tokenizer import TokenCounter
from search.retrieval.expansion import ReachedChunk
from tests.integration.search.context.workspace_files import cited_lines, json_package, put_file

PACKAGE = json_package()


def fill(workspace):
    for path, text in PACKAGE.items():
        put_file(workspace, path, text)


@pytest.fixture
def workspace(filled):
    return filled


def segments_of(pack):
    return [segment for file in pack["files"] for segment in file["segments"]]


def chunks_of(pack):
    return [each for segment in segments_of(pack) for each in segment["chunks"]]


def test_schema_has_every_field_of_a_pack_and_no_other(subtests):
    pack = load_schema("context_pack.v1")["properties"]
    file = pack["files"]["items"]["properties"]
    segment = file["segments"]["items"]["properties"]
    overview = pack["overview"]["anyOf"][1]["properties"]
    outlined = overview["files"]["items"]["properties"]
    cases = [
        (ContextPack, pack, {"schema_version"}), (BudgetUse, pack["budget"]["properties"], set()),
        (PackedDocument, file, set()), (PackedText, segment, set()),
        (ReachedChunk, segment["chunks"]["items"]["properties"], set()), (Overview, overview, set()),
        (OutlinedFile, outlined, set()), (Symbol, outlined["symbols"]["items"]["properties"], set()),
    ]  # fmt: skip
    for type_, properties, also in cases:
        with subtests.test(type=type_.__name__):
            assert set(properties) == {field.name for field in fields(type_)} | also


def test_pack_reports_mode_seq_lag_and_budget(ask_for):
    pack = ask_for("How are control characters in strings refused?", technical_terms=["JSONDecodeError"])
    assert pack["files"][0]["doc_path"] in PACKAGE
    assert pack["technical_terms"] == ["JSONDecodeError"]
    assert pack["mode"] == "hybrid" and pack["seq"] == len(PACKAGE) and pack["lag"] == 0
    assert pack["degraded"] == [] and pack["rerank"] is None
    assert (pack["budget"]["unit"], pack["budget"]["total"]) == ("tokens", 10_000)


def test_cited_lines_are_exactly_the_text(ask_for):
    segments = [
        (PACKAGE[file["doc_path"]], segment)
        for request in ("decode a document", "iterencode floats", "command line tool", "raw_decode scanner")
        for file in ask_for(request)["files"]
        for segment in file["segments"]
    ]
    assert len(segments) > 8
    for text, segment in segments:
        assert segment["verbatim"]
        assert segment["text"] == cited_lines(text, segment)


def test_segments_of_a_file_are_in_order_apart_and_three_at_most(ask_for):
    pack = ask_for("decode encode scan string", expand={"neighbours": 3})
    assert pack["files"]
    for file in pack["files"]:
        spans = [(each["citation"]["start"], each["citation"]["end"]) for each in file["segments"]]
        assert len(spans) <= 3
        assert all(end + 1 < start for (_, end), (start, _) in itertools.pairwise(spans))
        assert file["score"] == max(segment["score"] for segment in file["segments"])
    scores = [file["score"] for file in pack["files"]]
    assert scores == sorted(scores, reverse=True)
    ids = [each["chunk_id"] for each in chunks_of(pack)]
    assert len(ids) == len(set(ids))


def test_budget_is_never_exceeded_and_counts_what_is_given(ask_for, subtests):
    measures = {"chars": len, "tokens": TokenCounter().count}
    for unit, total in itertools.product(measures, (1, 250, 900, 4_000)):
        with subtests.test(unit=unit, total=total):
            pack = ask_for("How are strings decoded and scanned?", budget={unit: total})
            sizes = [measures[unit](segment["text"]) for segment in segments_of(pack)]
            assert [segment["size"] for segment in segments_of(pack)] == sizes
            assert sum(sizes) == pack["budget"]["used"] <= total == pack["budget"]["total"]
            assert pack["budget"]["unit"] == unit
            for file in pack["files"]:
                for segment in file["segments"]:
                    assert segment["text"] == cited_lines(PACKAGE[file["doc_path"]], segment)


def test_larger_budget_holds_more_and_leaves_less_out(ask_for):
    small, again, large = (ask_for("decode strings", budget=size) for size in (1_500, 1_500, 50_000))
    assert small | {"took_ms": 0} == again | {"took_ms": 0}
    assert small["budget"]["unit"] == "chars"
    assert 0 < small["budget"]["used"] < large["budget"]["used"]
    assert small["left_out"] > large["left_out"]
    assert len(chunks_of(small)) + small["left_out"] == len(chunks_of(large)) + large["left_out"]


def test_tokens_are_counted_by_the_model_or_estimated(ask_for, monkeypatch):
    assert ask_for("decode")["budget"]["counted_by"] == "model"
    assert ask_for("decode", budget={"chars": 700})["budget"]["counted_by"] == "code points"
    monkeypatch.setattr("search.embedders.bert.tokenizer._counting_tokenizer", lambda: None)
    estimated = ask_for("decode", budget={"tokens": 700})
    assert estimated["budget"]["counted_by"] == "estimate"
    assert 0 < estimated["budget"]["used"] <= 700


def test_empty_pack_warns_only_of_a_budget_too_small(ask_for):
    pack = ask_for("decode", budget=3)
    assert pack["files"] == [] and pack["budget"]["used"] == 0 and pack["left_out"] > 0
    assert len(pack["warnings"]) == 1
    pack = ask_for("zyzzyva", mode="lexical")
    assert (pack["files"], pack["warnings"], pack["left_out"]) == ([], [], 0)
    assert ask_for("  ")["files"] == ask_for("decode", filters={"lang": ["tlh"]})["files"] == []


def test_terms_channels_and_filters_reach_the_search(ask_for):
    assert ask_for("", technical_terms=["JSONDecodeError"], mode="lexical")["files"] != []
    assert ask_for("zyzzyva", technical_terms=["c_make_encoder"], mode="lexical")["files"] != []
    assert ask_for("zyzzyva", channels={"lexical": "c_make_encoder"}, mode="lexical")["files"] != []
    assert ask_for("decode", technical_terms=["b ", " ", "a", "b"])["technical_terms"] == ["b", "a"]
    found = ask_for("decode", filters={"path_glob": ["json/scanner.py"]})["files"]
    assert found[0]["doc_path"] == "json/scanner.py"


def test_imports_of_a_real_package_are_found(ask_for):
    expand = {"neighbours": 0, "siblings": False, "imports": True}
    files = {
        file["doc_path"]: file["segments"]
        for file in ask_for("WHITESPACE_STR", mode="lexical", expand=expand)["files"]
    }
    assert {each["reached_by"] for each in files["json/scanner.py"]} == {"import"}


def retrieve(workspace, request, **fields):
    return retrieve_code(workspace, Reader(), CodeRequest(information_request=request, **fields))


def test_overview_names_the_members_of_a_class_and_marks_hits(filled):
    found = retrieve(filled, "Where is this defined?", technical_terms=("JSONDecodeError",))
    assert found.files[0].doc_path == "json/decoder.py"
    request = "raw_decode of a document that starts with JSON"
    pack = retrieve(filled, request, response_mode=ResponseMode.OVERVIEW)
    [decoder] = [file for file in pack.overview.files if file.doc_path == "json/decoder.py"]
    named = {symbol.heading_path: symbol for symbol in decoder.symbols}
    whole = named["class JSONDecoder",]
    member = next(symbol for path, symbol in named.items() if path[-1].endswith("raw_decode"))
    assert member.has_hit
    assert whole.citation.start <= member.citation.start <= member.citation.end <= whole.citation.end
    starts = [symbol.citation.start for symbol in decoder.symbols]
    assert starts == sorted(starts)


def test_text_measures_what_the_pack_says_and_never_more_than_the_budget(filled, subtests):
    request = "decode encode scan string"
    for mode in ResponseMode:
        for total in (20, 240, 1_250, 3_000):
            with subtests.test(mode=mode, total=total):
                budget = Budget(unit=BudgetUnit.TOKENS, total=total)
                pack = retrieve(filled, request, budget=budget, response_mode=mode)
                text = pack_text(pack)
                size = TokenCounter().count("" if text == NOTHING_FOUND else text)
                assert size == pack.budget.used <= total
    pack = retrieve(filled, request, budget=Budget(unit=BudgetUnit.CHARS, total=3_000))
    assert 1_000 < len(pack_text(pack)) <= pack.budget.used <= 3_000
