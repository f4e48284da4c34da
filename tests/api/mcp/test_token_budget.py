"""Token budgets are kept exactly, and results end with a whole passage."""

import json
import re

from search.embedders.bert.tokenizer import TokenCounter
from search.mcp.tools.token_budget import Frame, fit_blocks, room_in_frame
from tests.api.mcp.shelf import log_of

BUDGETS = (400, 2_000, 20_000)
LOG = "log/harbour.md"
# The last passage of those that fit may be left out, as the sum of the parts is an estimate.
_DESCRIPTION_TOKENS = 40


def tokens(text):
    return TokenCounter().count(text)


def test_search_fits_its_budget_and_ends_with_a_whole_hit(over_http, subtests):
    for detail in ("titles", "snippets", "passages"):
        given = {"query": "the tides", "k": 30, "detail": detail}
        whole = over_http.data("search", **given, max_tokens=100_000)["results"]
        for budget in BUDGETS:
            with subtests.test(detail=detail, budget=budget):
                text = over_http.text("search", **given, max_tokens=budget)
                found = json.loads(text)
                kept = found["results"]
                assert 0 < tokens(text) <= budget
                assert kept == whole[: len(kept)]
                assert ("notes" in found) is (len(kept) < len(whole))
                assert detail != "passages" or budget != 2_000 or tokens(text) > 1_500


def test_document_fits_its_budget_by_passages(over_http, shelf, subtests):
    doc_id = shelf.document(LOG).doc_id.hex
    chunks = shelf.chunks(LOG)
    longest = max(tokens(chunk.text) for chunk in chunks)
    for budget in BUDGETS:
        with subtests.test(budget=budget):
            text = over_http.text("fetch", id=doc_id, max_tokens=budget)
            fetched = json.loads(text)
            (following,) = re.findall(r"id=([0-9a-f]{32})", fetched["metadata"].get("more", "")) or [None]
            ids = [chunk.chunk_id.hex for chunk in chunks]
            kept = len(chunks) if following is None else ids.index(following)
            assert tokens(text) <= budget
            assert kept == 1 or len(fetched["metadata"]["citations"]) == kept
            assert fetched["text"] == "\n\n".join(chunk.text for chunk in chunks[:kept])
            assert (kept == len(chunks)) is (budget == 20_000)
            assert kept == len(chunks) or budget - tokens(text) < 1.2 * longest + _DESCRIPTION_TOKENS


def test_document_fits_its_budget_by_lines(over_http, subtests):
    lines = log_of("harbour").splitlines()
    for budget in BUDGETS:
        with subtests.test(budget=budget):
            text = over_http.text("fetch", id=LOG, lines=f"1-{len(lines)}", max_tokens=budget)
            fetched = json.loads(text)
            kept, more = fetched["text"].split("\n"), fetched["metadata"].get("more", "")
            is_whole = len(kept) == len(lines)
            assert tokens(text) <= budget
            assert kept == lines[: len(kept)]
            assert fetched["metadata"]["citation"] == f"{LOG}#L1-L{len(kept)}"
            assert is_whole is (budget == 20_000)
            assert is_whole or more.endswith(f"lines={len(kept) + 1}-{len(lines)}.")
            assert is_whole or tokens(text) > 0.8 * budget - _DESCRIPTION_TOKENS
    fetched = over_http.data("fetch", id=LOG, lines="150-150")
    assert fetched["metadata"]["citation"] == f"{LOG}#L150"


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


def test_passage_longer_than_the_budget_is_cut_and_marked(over_http, shelf):
    whole = over_http.data("search", query="scanstring", detail="passages", k=1)["results"][0]
    text = over_http.text("search", query="scanstring", detail="passages", k=1, max_tokens=300)
    (cut,) = json.loads(text)["results"]
    assert 270 < tokens(text) <= 300
    assert cut["text"].endswith(" […]")
    assert whole["text"].startswith(cut["text"].removesuffix(" […]"))
    assert cut["metadata"]["more"]
    fetched = over_http.text("fetch", id=whole["id"], max_tokens=300)
    assert 270 < tokens(fetched) <= 300
    assert whole["text"].startswith(json.loads(fetched)["text"].removesuffix(" […]"))
    assert json.loads(fetched)["metadata"]["more"]


def test_small_budget_has_a_sentence_with_its_citation_alone(over_http):
    for max_tokens in (120, 150):
        text = over_http.text("search", query="moorings", detail="passages", max_tokens=max_tokens)
        (found,) = json.loads(text)["results"]
        assert tokens(text) <= max_tokens
        assert found["text"] and "Boats lie at their moorings.".startswith(found["text"].removesuffix(" […]"))
        fetched = over_http.text("fetch", id=found["id"], max_tokens=120)
        assert tokens(fetched) <= 120 and json.loads(fetched)["text"] == "Boats lie at their moorings."


def test_blocks_beyond_the_token_budget_are_dropped_whole():
    blocks = [f"block {number} of some words" for number in range(9)]
    for budget in range(20, 200, 3):
        text = fit_blocks(budget, "the head", blocks, lambda kept: "" if kept == 9 else f"{9 - kept} left")
        kept = [block for block in blocks if block in text]
        assert tokens(text) <= budget
        assert kept == blocks[: len(kept)]
        assert text.endswith(f"{9 - len(kept)} left" if len(kept) < 9 else blocks[-1])


def test_frame_of_a_passage_fits_the_tokens_reserved_for_it():
    for text in ("a word and another", "0123456789abcdef " * 9, "部署指南 충돌은", "x"):
        frame = Frame([text])
        framed = f"{frame.notice}\n\n{frame.passage(text)}"
        assert tokens(framed) - tokens(text) <= 1_000 - room_in_frame(1_000)
