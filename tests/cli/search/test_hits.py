import io
from dataclasses import replace
from datetime import UTC, datetime

from rich.console import Console

from kebab.cli.output import people_console
from search.cli.hits import print_explanation, print_result, summary
from search.retrieval.citation import Citation
from search.retrieval.degradation import degradation_messages
from search.retrieval.query.filters import TrustLevel
from search.retrieval.types import LexicalTotal, Mode, RetrievalDetail, SearchHit, SearchResult

HIT = SearchHit(
    rank=1,
    score=0.991935,
    chunk_id="c" * 32,
    doc_id="d" * 32,
    doc_path="guides/install.md",
    title="Install",
    heading_path=("Install", "Linux"),
    section_label="Linux",
    snippet="Run apt to\ninstall it",
    highlights=((11, 18),),
    citation=Citation(kind="line", path="guides/install.md", section="Linux", start=7, end=12),
    retrieval=RetrievalDetail(
        method=Mode.HYBRID,
        fusion_score=0.991935,
        lexical_score=0.5,
        lexical_rank=1,
        vector_score=0.75,
        vector_rank=2,
    ),
    index_version="hybrid:lex-1+vec-1",
    chunker_version="c1",
    embedding_model=None,
    indexed_at=datetime(2026, 1, 1, tzinfo=UTC),
    stale=False,
    source="docs",
    version=None,
    lang="en",
    tags=(),
    trust_level=TrustLevel.PRIMARY,
    code_lang=None,
    date=datetime(2026, 1, 1, tzinfo=UTC),
    author=None,
)
RESULT = SearchResult(
    query="install",
    mode=Mode.HYBRID,
    index_version="hybrid:lex-1+vec-1",
    seq=4,
    lag=0,
    took_ms=12.34,
    lexical_total=LexicalTotal(value=3, relation="eq"),
    hits=(HIT,),
)


def printed_result(result, show=print_result):
    stream = io.StringIO()
    show(people_console(stream), result)
    return stream.getvalue()


def test_hit_shows_rank_score_headings_citation_snippet_and_legs():
    assert printed_result(RESULT).splitlines() == [
        " 1. Install > Linux  0.9919",
        "    guides/install.md#L7-L12  docs, primary",
        "    Run apt to install it",
        "    lexical #1 (0.500)  vector #2 (0.750)",
        "",
    ]
    stream = io.StringIO()
    hit = replace(HIT, title="Guide", version="v2", snippet="many words " * 20, highlights=())
    print_result(Console(file=stream, width=50, soft_wrap=True), replace(RESULT, hits=(hit,)))
    title, place, *snippet, _, _ = stream.getvalue().splitlines()
    assert title == " 1. Guide > Install > Linux  0.9919"
    assert "docs v2" in place
    assert len(snippet) > 4
    assert all(line.startswith("    ") and len(line) <= 50 for line in snippet)


def test_matched_words_are_highlighted_where_the_hit_says():
    stream = io.StringIO()
    print_result(Console(file=stream, force_terminal=True, color_system="standard", width=80), RESULT)
    assert "\x1b[1;33minstall\x1b[0m it" in stream.getvalue()


def test_summary_counts_hits_and_chunks():
    assert summary(replace(RESULT, lexical_total=None)) == "1 hit in 12.3 ms (hybrid)."
    assert "; 3 chunks" in summary(RESULT)


def test_documents_text_commands_no_terminal_and_is_no_markup():
    hit = replace(HIT, snippet="[red]a\x1b[2Jb", title="\x1b]0;x\x07", heading_path=(), highlights=())
    shown = printed_result(replace(RESULT, hits=(hit,)))
    assert "\x1b" not in shown
    assert "[red]a\ufffd[2Jb" in shown


def test_everything_that_was_missing_is_said():
    result = replace(RESULT, degraded=("vector",), warnings=("Mind the gap.",), lag=1, did_you_mean="instal")
    messages = list(degradation_messages(result))
    assert all(each in line for each, line in zip(("vector", "Mind", "1", "instal"), messages, strict=True))
    assert list(degradation_messages(RESULT)) == []


def test_an_explanation_names_expressions_times_and_ranks():
    explain = {
        "match": {"every": '"install"', "some": None, "raw": False},
        "legs": {},
        "fused": [{"chunk_id": "c" * 32, "score": 0.99193548, "ranks": {"lexical": 1, "vector": 2}}],
        "timings_ms": {"lexical": 3.14159},
    }
    shown = printed_result(replace(RESULT, explain=explain), print_explanation)
    assert '"install"' in shown
    assert "lexical 3.1 ms" in shown
    assert "0.9919" in shown
