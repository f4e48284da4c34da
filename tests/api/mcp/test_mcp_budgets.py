"""Budgets of tokens are kept to the token, and what is given ends where a passage ends."""

import re

import pytest

from search.embedders.tokenizer import TokenCounter
from search.mcp.fitting import Frame, fitted, room_in_frame
from tests.api.mcp.shelf import log_of

BUDGETS = (200, 2_000, 20_000)
_PASSAGE = re.compile(r"<(passage-[0-9a-f]{8})([^>]*)>\n(.*?)\n</\1>", re.DOTALL)
_DETAILS = ("titles", "snippets", "passages")
LOG = "log/harbour.md"
# What stands around a passage: its marks with a chunk's id in them.
_FRAME_TOKENS = 80


def tokens(text):
    return TokenCounter().count(text)


def passages(text):
    return [match[3] for match in _PASSAGE.finditer(text)]


@pytest.mark.parametrize("detail", _DETAILS)
@pytest.mark.parametrize("budget", BUDGETS)
def test_a_search_fits_its_budget_and_ends_with_a_whole_hit(over_http, budget, detail):
    given = {"query": "the tides", "k": 100, "detail": detail}
    said = over_http.text("search", **given, max_tokens=budget)
    whole = passages(over_http.text("search", **given, max_tokens=100_000))
    kept = passages(said)

    assert 0 < tokens(said) <= budget
    assert kept == whole[: len(kept)]
    assert len(kept) == len(whole) or "more had no room" in said


def test_a_larger_budget_is_used(over_http):
    given = {"query": "the tides", "k": 100, "detail": "passages"}
    sizes = [tokens(over_http.text("search", **given, max_tokens=budget)) for budget in BUDGETS[:2]]

    assert sizes[1] > 1_700
    assert sizes[0] < 200


@pytest.mark.parametrize(("budget", "is_whole"), [(200, False), (2_000, False), (20_000, True)])
def test_a_document_fits_its_budget_by_passages(over_http, shelf, budget, is_whole):
    doc_id = shelf.document(LOG).doc_id.hex
    said = over_http.text("fetch", id=doc_id, max_tokens=budget)
    longest = max(map(tokens, passages(over_http.text("fetch", id=doc_id, max_tokens=100_000))))
    texts = [chunk.text for chunk in shelf.chunks(LOG)]
    kept = [passage.split("\n", 2)[2] for passage in passages(said)]  # behind citation and headings

    assert tokens(said) <= budget
    assert kept == texts[: len(kept)]
    assert (len(kept) == len(texts)) is is_whole
    assert ("more had no room" in said) is not is_whole
    assert is_whole or budget - tokens(said) < longest + _FRAME_TOKENS


@pytest.mark.parametrize(("budget", "is_whole"), [(200, False), (2_000, False), (20_000, True)])
def test_a_document_fits_its_budget_by_lines(over_http, shelf, budget, is_whole):
    lines = log_of("harbour").splitlines()
    said = over_http.text("fetch", id=LOG, lines=f"1-{len(lines)}", max_tokens=budget)
    (passage,) = passages(said)
    cited, *kept = passage.split("\n")

    assert tokens(said) <= budget
    assert kept == lines[: len(kept)]
    assert cited == f"{LOG}#L1-L{len(kept)}"
    assert (len(kept) == len(lines)) is is_whole
    assert is_whole or said.endswith(f"go on with lines={len(kept) + 1}-{len(lines)}.")
    assert is_whole or budget - tokens(said) < max(map(tokens, lines))


def test_what_had_no_room_is_named_by_how_to_go_on(over_http, shelf):
    first = over_http.text("fetch", id=LOG, lines="1-300", max_tokens=2_000)
    (begun,) = re.findall(r"go on with lines=([0-9]+)-", first)
    second = over_http.text("fetch", id=LOG, lines=f"{begun}-{begun}")

    assert f"{LOG}#L1-L{int(begun) - 1}" in first
    assert f"{LOG}#L{begun}" in second
    document = shelf.document(LOG)
    said = over_http.text("fetch", id=document.doc_id.hex, max_tokens=2_000)
    (chunk_id,) = re.findall(r"go on with id=([0-9a-f]{32})", said)
    assert chunk_id == shelf.chunks(LOG)[len(passages(said))].chunk_id.hex


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_librarys_snippets_fit_their_budget(over_http, budget):
    said = over_http.text("query-docs", libraryId="/local/handbook", query="the tides", tokens=budget)

    assert tokens(said) <= budget
    assert budget < 2_000 or tokens(said) > 1_500


@pytest.mark.parametrize("mode", ["text", "overview"])
@pytest.mark.parametrize("budget", BUDGETS)
def test_code_fits_its_budget(over_http, budget, mode):
    said = over_http.text(
        "codebase-retrieval",
        source="stdlib",
        information_request="How are strings with escapes scanned and decoded?",
        technical_terms=["scanstring", "JSONDecodeError"],
        response_mode=mode,
        max_tokens=budget,
    )

    assert tokens(said) <= budget
    assert "json/" in said


def test_too_small_a_budget_says_what_is_needed(over_http):
    said = over_http.text("search", query="scanstring", detail="passages", max_tokens=100)
    (needed,) = re.findall(r"the next takes ([0-9]+) tokens", said)

    assert tokens(said) <= 100 < int(needed)


def test_nothing_is_lost_or_cut_between_head_and_foot():
    blocks = [f"block {number} of some words" for number in range(9)]
    for budget in range(20, 200):
        said = fitted(budget, "the head", blocks, lambda kept: "" if kept == 9 else f"{9 - kept} left")
        kept = [block for block in blocks if block in said]
        assert tokens(said) <= budget
        assert kept == blocks[: len(kept)]
        assert said.endswith(f"{9 - len(kept)} left" if len(kept) < 9 else blocks[-1])


@pytest.mark.parametrize("text", ["a word and another", "0123456789abcdef " * 9, "部署指南 충돌은", "x"])
def test_a_single_quotation_has_the_room_that_is_told(text):
    frame = Frame([text])
    said = f"{frame.notice}\n\n{frame.passage(text)}"

    assert tokens(said) - tokens(text) <= 1_000 - room_in_frame(1_000)
