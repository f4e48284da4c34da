"""Finding chunks by their words."""

from contextlib import suppress

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kebab.people.reader import Reader
from search import node
from search.mirror.lexical import LexicalLeg
from search.mirror.reading import MirrorReading
from search.retrieval.errors import InvalidQuery, LegTimeout
from search.retrieval.filters import SearchFilters
from search.retrieval.types import LexicalTotal, Mode
from search.scope import resolve_scope
from tests.support.corpus import chunk, write, write_each
from tests.support.searching import ask, embed, paths, sync


def found(workspace, text, **options):
    return paths(ask(workspace, text, **options))


def candidates(workspace, text, limit, **filters):
    scope = resolve_scope(workspace, SearchFilters(**filters), Reader())
    leg = LexicalLeg(
        MirrorReading(node.mirror_files(workspace.pk), node.reader_pool(), scope, limit_s=60), text
    )
    return leg.search(limit), leg


def test_all_terms_come_before_some(workspace):
    write(workspace, "some.md", "apple apple apple")
    write(workspace, "all.md", "apple pear and a good many other words that make this chunk a long one")
    write(workspace, "none.md", "plum")
    sync(workspace)
    result = ask(workspace, "apple pear")
    assert paths(result) == ["all.md", "some.md"]
    assert [hit.retrieval.tier for hit in result.hits] == ["all", "some"]


def test_a_single_term_is_not_relaxed(workspace):
    write(workspace, "a.md", "apple")
    sync(workspace)
    result = ask(workspace, "apple")
    assert [hit.retrieval.tier for hit in result.hits] == ["all"]
    assert (result.lexical_total.value, result.lexical_total.relation) == (1, "eq")


def test_better_matches_come_first_and_scores_fall(workspace):
    write(workspace, "often.md", "apple apple apple apple")
    write(workspace, "once.md", "apple banana cherry plum fig")
    write_each(workspace, ["filler text without it"] * 8, source="filler")
    sync(workspace)
    result = ask(workspace, "apple")
    assert paths(result) == ["often.md", "once.md"]
    assert 1 > result.hits[0].score > result.hits[1].score > 0
    assert [hit.rank for hit in result.hits] == [1, 2]
    assert all(hit.score == hit.retrieval.lexical_score == hit.retrieval.fusion_score for hit in result.hits)


@pytest.mark.parametrize("limit", [1, 7, 20, 21, 40, 41])
@pytest.mark.parametrize("text", ["apple", "apple pear", "'apple'"])
def test_equal_scores_are_ordered_by_chunk_id_wherever_the_list_is_cut(workspace, text, limit):
    write(workspace, "a.md", "apple one", *["apple"] * 20, *["apple pear"] * 20)
    sync(workspace)
    whole, _ = candidates(workspace, text, 1_000)
    cut, _ = candidates(workspace, text, limit)
    assert whole == sorted(whole, key=lambda c: (c.tier != "all", -c.score, c.chunk_id))
    assert len({candidate.score for candidate in whole}) <= 3
    assert cut == whole[:limit]


def test_the_total_counts_what_has_every_term(workspace):
    write(workspace, "a.md", *["apple pear"] * 30, *["apple"] * 10)
    sync(workspace)
    enough = candidates(workspace, "apple pear", 10)[1].total
    relaxed = candidates(workspace, "apple pear", 100)[1].total
    exact = candidates(workspace, "apple", 100)[1].total
    assert (enough.value, enough.relation) == (30, "eq")
    assert (relaxed.value, relaxed.relation) == (30, "gte")
    assert (exact.value, exact.relation) == (40, "eq")


def test_the_total_counts_under_the_filters(workspace):
    write(workspace, "a.md", *["apple"] * 30)
    write(workspace, "a.md", *["apple"] * 30, source="other")
    sync(workspace)
    assert candidates(workspace, "apple", 10, source=("other",))[1].total.value == 30


def test_stop_words_do_not_relax_a_query(workspace):
    write(workspace, "noise.md", "the how of the what")
    write(workspace, "signal.md", "replication lag")
    sync(workspace)
    assert found(workspace, "how is the replication lag of the mirror") == ["signal.md"]


def test_a_query_of_stop_words_alone_finds_them(workspace):
    write(workspace, "band.md", "the who")
    write(workspace, "other.md", "something else")
    sync(workspace)
    assert found(workspace, "the who") == ["band.md"]


def test_a_query_that_was_cut_from_a_page_is_searched_by_its_rarest_words(workspace):
    write_each(workspace, ["common words everywhere"] * 10)
    write(workspace, "rare.md", "common xylophone")
    sync(workspace)
    pasted = " ".join(["common", "words", "xylophone", *(f"w{n}" for n in range(10_000))])
    assert found(workspace, pasted)[0] == "rare.md"


def test_a_long_raw_query_is_answered_or_refused(workspace):
    write(workspace, "a.md", "apple")
    sync(workspace)
    raw = "'" + " OR ".join(f"w{n}" for n in range(10_000)) + "'"
    with suppress(InvalidQuery):
        assert found(workspace, raw) == []


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("'apple OR plum'", {"apple.md", "plum.md", "both.md"}),
        ("'apple NOT pear'", {"apple.md"}),
        ("'appl*'", {"apple.md", "both.md"}),
        ("'\"apple pear\"'", {"both.md"}),
        ("'breadcrumb : guide'", {"apple.md", "plum.md", "both.md"}),
        ("'text : guide'", set()),
        ("'NEAR(apple pear)'", {"both.md"}),
    ],
)
def test_raw_queries_speak_fts5(workspace, raw, expected):
    write(workspace, "apple.md", "apple")
    write(workspace, "plum.md", "plum")
    write(workspace, "both.md", "apple pear")
    sync(workspace)
    result = ask(workspace, raw)
    assert set(paths(result)) == expected
    assert {hit.retrieval.tier for hit in result.hits} <= {None}


@pytest.mark.parametrize(
    "raw", ["'foo AND'", "'(foo'", "'nocolumn : foo'", "'\"foo'", "'foo OR OR bar'", "'a*'"]
)
def test_a_raw_query_with_wrong_syntax_is_the_callers_mistake(workspace, raw):
    write(workspace, "a.md", "foo")
    sync(workspace)
    with pytest.raises(InvalidQuery):
        ask(workspace, raw)


def test_quotes_around_one_word_of_several_are_not_raw(workspace):
    write(workspace, "a.md", "foo bar")
    sync(workspace)
    assert found(workspace, "'foo' bar") == ["a.md"]


@pytest.mark.parametrize("mode", list(Mode))
def test_a_query_without_a_word_finds_nothing_in_any_mode(workspace, mode):
    write(workspace, "a.md", "apple")
    sync(workspace)
    embed(workspace)
    for text in ("", "   ", "''", "' '", "(", "*", "\x00", '"', "''''", "( ) *"):
        assert ask(workspace, text, mode).hits == (), text


@pytest.mark.parametrize(
    "text",
    ["next.js", "C++", "foo-bar", "path/to/file", "don't", "a:b", "@angular/core", "NOT", 'he"llo', "AND OR"],
)
def test_what_looks_like_syntax_finds_what_holds_it(workspace, text):
    write(workspace, "held.md", f"before {text} after")
    write(workspace, "other.md", "unrelated")
    sync(workspace)
    assert found(workspace, text) == ["held.md"]


def test_word_forms_are_found(workspace):
    write(workspace, "a.md", "connections are pooled")
    sync(workspace)
    assert found(workspace, "connection pool") == ["a.md"]


def test_a_word_of_the_breadcrumb_is_found(workspace):
    write(workspace, "a.md", chunk("nothing of it", heading="Guide > Deployment"))
    sync(workspace)
    assert found(workspace, "deployment") == ["a.md"]


def test_snippets_mark_the_words_they_were_found_by(workspace):
    text = (
        "Lorem ipsum dolor. " * 30
        + "Replicas follow the primary, each replica by itself. "
        + "Sit amet. " * 30
    )
    write(workspace, "a.md", text)
    sync(workspace)
    (hit,) = ask(workspace, "replica primary").hits
    assert [hit.snippet[start:end] for start, end in hit.highlights] == ["Replicas", "primary", "replica"]
    assert len(hit.snippet) <= 220


@pytest.mark.parametrize("chars", [1, 3, 20, 220, 1_000])
def test_snippets_keep_to_their_length_in_code_points(workspace, chars):
    write(workspace, "a.md", "Grüße 🙂 aus Köln, " * 60 + "wo der Schlüssel liegt")
    sync(workspace)
    (hit,) = ask(workspace, "Schlüssel", snippet_chars=chars).hits
    assert 0 < len(hit.snippet) <= chars
    assert all(0 <= start < end <= len(hit.snippet) for start, end in hit.highlights)
    if chars >= 220:
        assert [hit.snippet[start:end] for start, end in hit.highlights] == ["Schlüssel"]


def test_a_snippet_of_a_chunk_found_by_its_heading_shows_its_start(workspace):
    write(workspace, "a.md", chunk("First words of the chunk.", heading="Deployment"))
    sync(workspace)
    (hit,) = ask(workspace, "deployment").hits
    assert (hit.snippet, hit.highlights) == ("First words of the chunk.", ())


def test_k_bounds_the_list_and_its_start_stays_the_same(workspace):
    write(workspace, "a.md", *[f"apple {'pear ' * n}" for n in range(30)])
    sync(workspace)
    whole, three, default = ([hit.chunk_id for hit in ask(workspace, "apple", k=k).hits] for k in (30, 3, 0))
    assert len(whole) == 30
    assert (three, default) == (whole[:3], whole[:10])


@pytest.mark.parametrize("text", ["'*reads'", "'*id'", "' * reads'"])
def test_what_fts5_tells_of_itself_is_not_asked_for(workspace, text):
    write(workspace, "a.md", "reads id")
    sync(workspace)
    with pytest.raises(InvalidQuery, match="begins with a star"):
        ask(workspace, text)


def test_a_relaxed_query_says_that_there_are_others_only_where_there_are(workspace):
    write_each(workspace, ["apple pear", "apple", "plum"])
    sync(workspace)
    totals = [ask(workspace, text).lexical_total for text in ("apple pear", "plum plums", "zebra yak")]
    assert [(total.value, total.relation) for total in totals] == [(1, "gte"), (1, "eq"), (0, "eq")]


def test_a_leg_past_its_time_is_degraded_and_the_response_stands(workspace, settings):
    write(workspace, "a.md", *["apple"] * 1_000)
    sync(workspace)
    settings.KEBAB_LEG_LIMIT_MS = 0
    result = ask(workspace, "apple pear")
    assert (result.degraded, result.hits) == (("lexical",), ())
    assert ask(workspace, "apple").lexical_total == LexicalTotal(value=0, relation="gte")
    assert ask(workspace, "apple", Mode.HYBRID).degraded == ("lexical",)


def test_a_raw_query_past_its_time_is_refused(workspace, settings):
    write(workspace, "a.md", *["apple"] * 1_000)
    sync(workspace)
    settings.KEBAB_LEG_LIMIT_MS = 0
    with pytest.raises(InvalidQuery, match="too long"):
        ask(workspace, "'apple OR pear'")


def test_what_was_found_in_time_is_kept(workspace, monkeypatch):
    write_each(workspace, ["apple pear", "apple", "pear"])
    sync(workspace)
    looks = iter([False, True])  # time for one term
    monkeypatch.setattr(MirrorReading, "is_late", lambda reading: next(looks, False))
    with pytest.raises(LegTimeout) as timeout:
        candidates(workspace, "apple pear", 10)
    assert len(timeout.value.partial) == 2


def test_a_hundred_searches_leave_the_files_bytes_as_they_were(workspace):
    write(workspace, "a.md", *[f"apple {n}" for n in range(20)])
    sync(workspace)
    path = node.mirror_files(workspace.pk).current()
    before = path.read_bytes()
    for n in range(100):
        ask(workspace, f"apple {n} 'x", path_glob=("*.md",), k=1 + n)
    node.reader_pool().close()
    assert path.read_bytes() == before


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.one_of(st.text(), st.text(alphabet="'\"*()^:-+{}. aANDORT\x00é部"), st.binary().map(repr)))
@example("'\x00'")
@example("\ud800 apple")
@example("'" + "(" * 5_000 + "'")
@example("'" + "a" * 100_000 + "'")
@example('"' * 10_001)
def test_no_text_a_person_sends_fails_otherwise_than_as_an_invalid_query(weird_corpus, text):
    for mode in Mode:
        try:
            result = ask(weird_corpus, text, mode)
        except InvalidQuery:
            assert text.strip().startswith("'")
        else:
            assert all(hit.snippet[a:b] for hit in result.hits for a, b in hit.highlights)


@pytest.fixture
def weird_corpus(workspace):
    write_each(workspace, ["apple and AND a", 'it\'s "quoted" (text) * ^ : 部署指南 é', "\x02marks\x03 \x1b"])
    sync(workspace)
    embed(workspace)
    return workspace
