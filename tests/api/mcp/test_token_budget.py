"""Token budgets are kept exactly, and results end with a whole passage."""

import re

from search.embedders.minilm.tokenizer import TokenCounter
from search.mcp.tools.token_budget import Frame, fit_blocks, room_in_frame
from tests.api.mcp.shelf import log_of

BUDGETS = (400, 2_000, 20_000)
_PASSAGE = re.compile(r"<(passage-[0-9a-f]{8})([^>]*)>\n(.*?)\n</\1>", re.DOTALL)
LOG = "log/harbour.md"
# Around a passage stand its marks with a chunk's id in them.
_FRAME_TOKENS = 80


def tokens(text):
    return TokenCounter().count(text)


def passages(text):
    return [match[3] for match in _PASSAGE.finditer(text)]


def test_search_fits_its_budget_and_ends_with_a_whole_hit(over_http, subtests):
    for detail in ("titles", "snippets", "passages"):
        given = {"query": "the tides", "k": 30, "detail": detail}
        whole = passages(over_http.text("search", **given, max_tokens=100_000))
        for budget in BUDGETS:
            with subtests.test(detail=detail, budget=budget):
                text = over_http.text("search", **given, max_tokens=budget)
                kept = passages(text)
                assert 0 < tokens(text) <= budget
                assert kept == whole[: len(kept)]
                assert detail != "passages" or budget != 2_000 or tokens(text) > 1_700


def test_document_fits_its_budget_by_passages(over_http, shelf, subtests):
    doc_id = shelf.document(LOG).doc_id.hex
    longest = max(map(tokens, passages(over_http.text("fetch", id=doc_id, max_tokens=100_000))))
    chunks = shelf.chunks(LOG)
    for budget in BUDGETS:
        with subtests.test(budget=budget):
            text = over_http.text("fetch", id=doc_id, max_tokens=budget)
            kept = [passage.split("\n", 2)[2] for passage in passages(text)]  # behind citation and headings
            is_whole = len(kept) == len(chunks)
            assert tokens(text) <= budget
            assert kept == [chunk.text for chunk in chunks][: len(kept)]
            assert is_whole is (budget == 20_000)
            assert is_whole or budget - tokens(text) < longest + _FRAME_TOKENS
            following = re.findall(r"id=([0-9a-f]{32})", text)
            assert is_whole or following == [chunks[len(kept)].chunk_id.hex]


def test_document_fits_its_budget_by_lines(over_http, subtests):
    lines = log_of("harbour").splitlines()
    for budget in BUDGETS:
        with subtests.test(budget=budget):
            text = over_http.text("fetch", id=LOG, lines=f"1-{len(lines)}", max_tokens=budget)
            (passage,) = passages(text)
            cited, *kept = passage.split("\n")
            is_whole = len(kept) == len(lines)
            assert tokens(text) <= budget
            assert kept == lines[: len(kept)]
            assert cited == f"{LOG}#L1-L{len(kept)}"
            assert is_whole is (budget == 20_000)
            assert is_whole or text.endswith(f"lines={len(kept) + 1}-{len(lines)}.")
            assert is_whole or budget - tokens(text) < max(map(tokens, lines))
    assert f"{LOG}#L150" in over_http.text("fetch", id=LOG, lines="150-150")


def test_snippets_of_a_library_fit_their_budget(over_http):
    for budget in BUDGETS:
        text = over_http.text("query-docs", libraryId="/local/handbook", query="the tides", tokens=budget)
        assert tokens(text) <= budget
        assert budget < 2_000 or tokens(text) > 1_500


def test_code_fits_its_budget(over_http, subtests):
    asked = {
        "source": "stdlib",
        "information_request": "How are strings with escapes scanned and decoded?",
        "technical_terms": ["scanstring", "JSONDecodeError"],
    }
    for budget, mode in ((200, "text"), (200, "overview"), (2_000, "overview"), (20_000, "text")):
        with subtests.test(budget=budget, mode=mode):
            text = over_http.text("codebase-retrieval", **asked, response_mode=mode, max_tokens=budget)
            assert tokens(text) <= budget
            assert "json/" in text


def test_too_small_a_budget_names_the_tokens_needed(over_http):
    text = over_http.text("search", query="scanstring", detail="passages", max_tokens=100)
    (needed,) = re.findall(r"the next takes ([0-9]+) tokens", text)
    assert tokens(text) <= 100 < int(needed)


def test_blocks_are_kept_whole_between_head_and_foot():
    blocks = [f"block {number} of some words" for number in range(9)]
    for budget in range(20, 200, 3):
        text = fit_blocks(budget, "the head", blocks, lambda kept: "" if kept == 9 else f"{9 - kept} left")
        kept = [block for block in blocks if block in text]
        assert tokens(text) <= budget
        assert kept == blocks[: len(kept)]
        assert text.endswith(f"{9 - len(kept)} left" if len(kept) < 9 else blocks[-1])


def test_single_passage_fits_the_room_in_its_frame():
    for text in ("a word and another", "0123456789abcdef " * 9, "部署指南 충돌은", "x"):
        frame = Frame([text])
        framed = f"{frame.notice}\n\n{frame.passage(text)}"
        assert tokens(framed) - tokens(text) <= 1_000 - room_in_frame(1_000)
