import io

import pytest

from kebab.cli.client.commands.search import print_result
from kebab.cli.client.terminal import Terminal

HIT = {
    "rank": 1,
    "score": 0.991935,
    "chunk_id": "c" * 32,
    "title": "Install",
    "heading_path": ["Install", "Linux"],
    "snippet": "Run apt to\ninstall it",
    "highlights": [[11, 18]],
    "citation": {"uri": "guides/install.md#L7-L12"},
    "retrieval": {"lexical_score": 0.5, "lexical_rank": 1, "vector_score": 0.75, "vector_rank": 2},
    "stale": False,
    "source": "docs",
    "version": None,
    "trust_level": "primary",
}
RESULT = {
    "mode": "hybrid",
    "took_ms": 12.34,
    "lexical_total": {"value": 3, "relation": "eq"},
    "hits": [HIT],
    "explain": None,
    "next_cursor": None,
    "corrected_query": None,
    "degraded": [],
    "rerank": None,
    "warnings": [],
    "lag": 0,
    "did_you_mean": None,
}


class Screen(io.StringIO):
    def isatty(self):
        return True


def printed(result, out=None):
    """Return what is printed of a result, and the remarks beside it."""
    out, err = out or io.StringIO(), io.StringIO()
    print_result(Terminal(out, err, as_json=False), result, "handbook")
    return out.getvalue(), err.getvalue()


@pytest.fixture
def narrow_screen(monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return Screen()


def test_hit_shows_rank_score_headings_citation_snippet_and_legs():
    assert printed(RESULT)[0].splitlines() == [
        " 1. Install > Linux  0.9919",
        "    guides/install.md#L7-L12  docs, primary",
        "    Run apt to install it",
        "    lexical #1 (0.500)  vector #2 (0.750)",
        "",
    ]


def test_snippet_is_wrapped_at_the_width_of_the_screen(narrow_screen, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    hit = {**HIT, "title": "Guide", "version": "v2", "snippet": "many words " * 20, "highlights": []}
    title, place, *snippet, _, _ = printed({**RESULT, "hits": [hit]}, narrow_screen)[0].splitlines()
    assert title == " 1. Guide > Install > Linux  0.9919"
    assert "docs v2" in place
    assert len(snippet) > 4
    assert all(line.startswith("    ") and len(line) <= 50 for line in snippet)


def test_matched_words_are_highlighted_where_the_hit_says(narrow_screen):
    assert "\x1b[1;33minstall\x1b[0m it" in printed(RESULT, narrow_screen)[0]


def test_summary_counts_hits_and_chunks():
    assert printed({**RESULT, "lexical_total": None})[1] == "1 hit in 12.3 ms (hybrid).\n"
    assert "; 3 chunks" in printed(RESULT)[1]


def test_escape_sequences_in_documents_are_not_printed():
    hit = {
        **HIT,
        "snippet": "[red]a\x1b[2Jb",
        "title": "\x1b]0;x\x07",
        "heading_path": [],
        "highlights": [],
    }
    shown = printed({**RESULT, "hits": [hit]})[0]
    assert "\x1b" not in shown
    assert "[red]a\ufffd[2Jb" in shown


def test_missing_legs_warnings_lag_and_suggestion_are_printed():
    result = {
        **RESULT,
        "degraded": ["vector"],
        "warnings": ["Mind the gap."],
        "lag": 1,
        "did_you_mean": "instal",
    }
    _, *remarks = printed(result)[1].splitlines()
    assert all(each in line for each, line in zip(("vector", "Mind", "1", "instal"), remarks, strict=True))


def test_an_explanation_names_expressions_times_and_ranks():
    explain = {
        "match": {"every": '"install"', "some": None, "raw": False},
        "legs": {},
        "fused": [{"chunk_id": "c" * 32, "score": 0.99193548, "ranks": {"lexical": 1, "vector": 2}}],
        "timings_ms": {"lexical": 3.14159},
    }
    shown = printed({**RESULT, "explain": explain})[0]
    assert '"install"' in shown
    assert "lexical 3.1 ms" in shown
    assert "0.9919" in shown
