"""Finding chunks by their words."""

import re

import apsw
import pytest

from kebab.identity.reader import Reader
from search.access.scope import resolve_scope
from search.engine import hits
from search.engine.corpus import mirror_source
from search.mirror.query import lexical
from search.mirror.query.lexical import LexicalLeg
from search.models import Chunk
from search.retrieval.errors import InvalidQuery
from search.retrieval.fusion.legs import TIERS, unpack_ids
from search.retrieval.query.filters import SearchFilters
from search.retrieval.types import MAX_QUERY_CHARS, LexicalTotal, Mode
from tests.support.corpus import chunk, write, write_each
from tests.support.search import ask, embed, paths, sync


def found_paths(workspace, text, **options):
    return paths(ask(workspace, text, **options))


def find(workspace, text, limit, **filters):
    scope = resolve_scope(workspace, SearchFilters(**filters), Reader())
    with mirror_source(workspace, scope).open() as view:
        return LexicalLeg(view, text).search(limit)


def candidates(found):
    """Return (tier, score, id) of each candidate."""
    tiers = [TIERS[tier] for tier in found.tiers.tolist()]
    return list(zip(tiers, found.scores.tolist(), unpack_ids(found.ids), strict=True))


def test_hits_with_all_terms_rank_above_hits_with_some(workspace):
    write(workspace, "some.md", "apple apple apple")
    write(workspace, "all.md", "apple pear and a good many other words that make this chunk a long one")
    write(workspace, "none.md", "plum")
    sync(workspace)
    result = ask(workspace, "apple pear")
    assert paths(result) == ["all.md", "some.md"]
    assert [hit.retrieval.tier for hit in result.hits] == ["all", "some"]
    single = ask(workspace, "plum")  # one term is not relaxed
    assert [hit.retrieval.tier for hit in single.hits] == ["all"]
    assert single.lexical_total == LexicalTotal(value=1, relation="eq")


def test_better_matches_come_first_and_scores_fall(workspace):
    write(workspace, "often.md", "apple apple apple apple")
    write(workspace, "once.md", "apple banana cherry plum fig")
    write_each(workspace, ["filler text without it"] * 8, source="filler")
    sync(workspace)
    result = ask(workspace, "apple")
    assert [(hit.rank, hit.doc_path) for hit in result.hits] == [(1, "often.md"), (2, "once.md")]
    assert 1 > result.hits[0].score > result.hits[1].score > 0
    assert all(hit.retrieval.lexical_score == hit.retrieval.fusion_score for hit in result.hits)


def test_equal_scores_are_ordered_by_chunk_id_wherever_the_list_is_cut(workspace, subtests):
    write(workspace, "a.md", "apple one", *["apple"] * 20, *["apple pear"] * 20)
    sync(workspace)
    for text in ("apple", "apple pear", "'apple'"):
        whole = candidates(find(workspace, text, 1_000))
        assert whole == sorted(whole, key=lambda each: (each[0] != "all", -each[1], each[2]))
        assert len({score for _, score, _ in whole}) <= 3
        for limit in (1, 7, 20, 21, 40, 41):
            with subtests.test(text=text, limit=limit):
                assert candidates(find(workspace, text, limit)) == whole[:limit]


def test_lexical_total_counts_chunks_with_all_terms_under_the_filters(workspace, subtests):
    write(workspace, "a.md", *["apple pear"] * 30, *["apple"] * 10)
    write(workspace, "b.md", "plum", source="other")
    write(workspace, "a.md", *["apple"] * 5, source="other")
    sync(workspace)
    docs = {"source": ("docs",)}
    for text, limit, filters, total in (
        ("apple pear", 10, docs, LexicalTotal(value=30, relation="eq")),
        ("apple pear", 100, docs, LexicalTotal(value=30, relation="eq")),  # relaxed, with others found
        ("apple zebra", 100, docs, LexicalTotal(value=0, relation="gte")),
        ("apple", 100, docs, LexicalTotal(value=40, relation="eq")),
        ("apple", 10, {"source": ("other",)}, LexicalTotal(value=5, relation="eq")),
        ("plum plums", 10, {}, LexicalTotal(value=1, relation="eq")),
        ("zebra yak", 10, {}, LexicalTotal(value=0, relation="eq")),
    ):
        with subtests.test(text=text, limit=limit):
            assert find(workspace, text, limit, **filters).total == total


def test_stop_words_do_not_relax_a_query_and_are_found_alone(workspace):
    write(workspace, "noise.md", "the how of the what")
    write(workspace, "signal.md", "replication lag")
    write(workspace, "band.md", "the who")
    sync(workspace)
    assert found_paths(workspace, "how is the replication lag of the mirror") == ["signal.md"]
    assert found_paths(workspace, "the who")[0] == "band.md"


def test_query_pasted_from_a_page_is_searched_by_its_rarest_words(workspace):
    write_each(workspace, ["common words everywhere"] * 10)
    write(workspace, "rare.md", "common xylophone")
    sync(workspace)
    words = [f"w{n}" for n in range(10_000)]
    assert found_paths(workspace, " ".join(["common", "words", "xylophone", *words]))[0] == "rare.md"
    with pytest.raises(InvalidQuery):
        found_paths(workspace, f"'{' OR '.join(words)}'")


def test_quoted_query_uses_fts5_syntax(workspace, subtests):
    for path, text in (("apple.md", "apple"), ("plum.md", "plum"), ("both.md", "apple pear")):
        write(workspace, path, text)
    sync(workspace)
    for raw, expected in (
        ("'apple OR plum'", {"apple.md", "plum.md", "both.md"}),
        ("'apple NOT pear'", {"apple.md"}),
        ("'appl*'", {"apple.md", "both.md"}),
        ("'\"apple pear\"'", {"both.md"}),
        ("'breadcrumb : guide'", {"apple.md", "plum.md", "both.md"}),
        ("'text : guide'", set()),
        ("'NEAR(apple pear)'", {"both.md"}),
    ):
        with subtests.test(raw=raw):
            result = ask(workspace, raw)
            assert set(paths(result)) == expected
            assert {hit.retrieval.tier for hit in result.hits} <= {None}
    assert (
        found_paths(workspace, "'apple' pear")[0] == "both.md"
    )  # quotes around one word of several are not raw


def test_raw_query_with_wrong_syntax_is_the_caller_s_mistake(workspace, subtests):
    write(workspace, "a.md", "foo reads id")
    sync(workspace)
    named = {
        "'foo AND'": "after 'AND'",
        "'(foo'": "after '(foo'",
        "'nocolumn : foo'": "'nocolumn'",
        "'\"foo'": "quotation mark",
        "'foo OR OR bar'": "at 'OR'",
        "'NEAR(a b, x)'": 'got "x"',
    }
    for raw, words in named.items():
        with subtests.test(raw=raw), pytest.raises(InvalidQuery, match=re.escape(words)):
            ask(workspace, raw)
    # A star at the beginning asks FTS5 about itself.
    for raw in ("'a*'", "'*reads'", "'*id'", "' * reads'"):
        with subtests.test(raw=raw), pytest.raises(InvalidQuery):
            ask(workspace, raw)


def test_query_without_a_word_finds_nothing_in_any_mode(workspace, subtests):
    write(workspace, "a.md", "( * 。 † ' apple")
    sync(workspace)
    embed(workspace)
    for text in ("", "   ", "' '", "(", "*", "\x00", '"', "'", "''''", "( ) *", "。", "†"):
        for mode in Mode:
            with subtests.test(text=text, mode=mode):
                assert ask(workspace, text, mode).hits == ()


def test_words_of_the_path_are_found(workspace, subtests):
    write(workspace, "team/Starter Kit (APAC).txt", "Nothing of it.")
    write(workspace, "other.md", "Nothing either.")
    sync(workspace)
    for text in ("starter kit", "APAC", "Starter Kit (APAC).txt", "team"):
        with subtests.test(text=text):
            assert paths(ask(workspace, text, Mode.LEXICAL)) == ["team/Starter Kit (APAC).txt"]


def test_forms_of_a_word_and_words_of_the_breadcrumb_are_found(workspace):
    write(workspace, "a.md", "connections are pooled")
    write(workspace, "b.md", chunk("First words of the chunk.", heading="Guide > Deployment"))
    write(workspace, "c.md", "before AND OR after")
    sync(workspace)
    assert found_paths(workspace, "connection pool") == ["a.md"]
    assert found_paths(workspace, "AND OR") == ["c.md"]
    (hit,) = ask(workspace, "deployment").hits
    assert (hit.doc_path, hit.snippet, hit.highlights) == ("b.md", "First words of the chunk.", ())


def test_stopped_leg_is_named_in_a_valid_response(workspace, settings):
    write(workspace, "a.md", *["apple"] * 1_000)
    sync(workspace)
    settings.KEBAB_LEG_LIMIT_MS = 0
    result = ask(workspace, "apple pear")
    assert (result.degraded, result.hits) == (("lexical",), ())
    assert ask(workspace, "apple").lexical_total == LexicalTotal(value=0, relation="gte")
    assert ask(workspace, "apple", Mode.HYBRID).degraded == ("lexical",)
    with pytest.raises(InvalidQuery):  # a raw query past its time is refused
        ask(workspace, "'apple OR pear'")


def test_legs_past_the_deadline_of_the_search_are_named(workspace, settings):
    write(workspace, "a.md", "apple")
    embed(workspace)
    sync(workspace)
    settings.KEBAB_SEARCH_LIMIT_MS = 0
    result = ask(workspace, "apple pear", Mode.HYBRID)
    assert (result.degraded, result.hits) == (("lexical", "vector"), ())


def test_snippets_past_the_deadline_are_the_beginnings_of_their_passages(workspace, monkeypatch):
    write(workspace, "a.md", "First words. " * 30 + "An apple.")
    sync(workspace)
    monkeypatch.setattr(hits, "deadline", lambda: 0.0)
    result = ask(workspace, "apple")
    (hit,) = result.hits
    assert (hit.snippet.startswith("First words."), hit.highlights) == (True, ())
    assert any("snippets" in warning for warning in result.warnings)


def test_query_that_is_too_long_is_cut_with_a_warning(workspace):
    write(workspace, "a.md", "apple", "pear")
    sync(workspace)
    page = "apple " * 2_000
    result = ask(workspace, f"{page} pear")
    assert result.query == page[:MAX_QUERY_CHARS]
    assert any(f"{MAX_QUERY_CHARS:,}" in warning for warning in result.warnings)
    assert [hit.snippet for hit in result.hits] == ["apple"]
    assert ask(workspace, page[:MAX_QUERY_CHARS]).warnings == ()


def test_leg_stopped_while_it_reads_the_query_is_named(workspace, monkeypatch):
    write(workspace, "a.md", "apple")
    embed(workspace)
    sync(workspace)

    def interrupt(*_, **__):
        raise apsw.InterruptError("interrupted")

    monkeypatch.setattr(lexical, "compile_match", interrupt)
    result = ask(workspace, "apple", Mode.HYBRID)
    assert (paths(result), result.degraded) == (["a.md"], ("lexical",))
    assert ask(workspace, "apple", Mode.LEXICAL).degraded == ("lexical",)


def highlighted_words(hit):
    return [hit.snippet[start:end] for start, end in hit.highlights]


def test_snippet_marks_the_words_and_keeps_to_its_length_in_code_points(workspace, subtests):
    replicas = "Replicas follow the primary, each replica by itself. "
    write(workspace, "a.md", "Lorem ipsum dolor. " * 30 + replicas + "Sit amet. " * 30)
    write(workspace, "b.md", "Grüße 🙂 aus Köln, " * 60 + "wo der Schlüssel liegt")
    sync(workspace)
    (hit,) = ask(workspace, "replica primary").hits
    assert (highlighted_words(hit), len(hit.snippet) <= 220) == (["Replicas", "primary", "replica"], True)
    for chars in (1, 3, 20, 220, 1_000):
        with subtests.test(chars=chars):
            (hit,) = ask(workspace, "Schlüssel", snippet_chars=chars).hits
            assert 0 < len(hit.snippet) <= chars
            assert all(0 <= start < end <= len(hit.snippet) for start, end in hit.highlights)
            assert chars < 220 or highlighted_words(hit) == ["Schlüssel"]


def test_snippet_is_cut_from_the_stored_plain_text(workspace):
    write(workspace, "a.md", "A *pool* of `threads`")
    sync(workspace)
    for stored, shown in (("The stored pool", "The stored pool"), ("", "A pool of threads")):
        Chunk.objects.update(plain=stored)
        assert [hit.snippet for hit in ask(workspace, "pool").hits] == [shown]


def test_snippet_is_plain_text_and_its_citation_names_the_lines_of_the_source(workspace):
    write(workspace, "a.md", "| **Pool** | `max_size` |\n|---|---|\n| [pools](p.md) | 5 |")
    write(workspace, "a.py", chunk("def pool(**kwargs):\n    pass", kind="code", language="python"))
    sync(workspace)
    hits = {hit.doc_path: hit for hit in ask(workspace, "pool").hits}
    assert (hits["a.md"].snippet, highlighted_words(hits["a.md"])) == (
        "Pool · max_size · pools · 5",
        ["Pool", "pools"],
    )
    assert (hits["a.md"].citation.start, hits["a.md"].citation.end) == (1, 9)
    assert hits["a.py"].snippet == "def pool(**kwargs):\n    pass"
