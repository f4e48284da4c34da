"""The lexical leg on a mirror of its own: FTS5's scores and order, under filters, late or damaged."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from search.mirror.query import lexical
from search.mirror.query.exact import ExactLeg
from search.mirror.query.filters import filter_clause
from search.mirror.query.lexical import LexicalLeg
from search.mirror.query.reader import MirrorReading
from search.retrieval.errors import LegTimeout
from search.retrieval.fusion.score_scales import lexical_score
from search.retrieval.query.filters import ChunkKind, TrustLevel
from tests.integration.search.mirror.factories import Shelf, chunk_id, document_state

WORDS = ["apple", "pear", "the", "rateLimit", "rate", "部署指南", "部", "c++", "path/to", "fruit", "über"]
RANKED = """
SELECT chunk_id, bm25(chunks_fts, 0, 0, ?, ?) AS score,
    rowid IN (SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?) AS has_every
FROM chunks_fts WHERE chunks_fts MATCH ? {clause} ORDER BY has_every DESC, score, chunk_id
"""


@pytest.fixture
def shelf(tmp_path):
    shelf = Shelf(tmp_path)
    yield shelf
    shelf.pool.close()


def ranked_by_fts5(leg, reading):
    """Return (chunk id, score) as FTS5 alone ranks the leg's match: all terms first, by the relaxed score."""
    match, clause = leg.match, filter_clause(reading.scope)
    some = " OR ".join(unit.expression for unit in match.some_units)
    values = (lexical.BREADCRUMB_WEIGHT, lexical.TEXT_WEIGHT, match.every, some, *clause.values)
    with reading.connection() as connection:
        scored = connection.execute(RANKED.format(clause=clause.sql), values).fetchall()
    return [(chunk_id, lexical_score(score)) for chunk_id, score, _ in scored]


texts_of_one = st.lists(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), max_size=4)
documents = st.lists(texts_of_one, min_size=1, max_size=8)
globs = [{"path_glob": ("[0-3].md",)}, {"path_not_glob": ("[0-3].md",)}]
filters = [{}, *globs, {"kind": (ChunkKind.CODE,)}, {"code_lang": ("python",)}]


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    written=documents,
    dropped=st.sets(st.integers(0, 7), max_size=3),
    query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join),
    narrowed=st.sampled_from(filters),
)
def test_leg_ranks_and_scores_as_fts5_does(tmp_path_factory, written, dropped, query, narrowed):
    shelf = Shelf(tmp_path_factory.mktemp("shelf"))
    for n, texts in enumerate(written):
        shelf.put(f"{n}.md", *texts, kind=("info", "code")[n % 2], code_lang=("", "python")[n % 2])
    for n in dropped:
        shelf.drop(f"{n}.md")
    leg = shelf.leg(query, **narrowed)
    found = leg.search(1_000)
    expected = ranked_by_fts5(leg, shelf.reading(**narrowed))
    assert [score for _, score in expected] == pytest.approx([each.score for each in found], rel=1e-9)
    # Scores that differ in the last digit alone may change places.
    assert {each.chunk_id for each in found} == {chunk_id for chunk_id, _ in expected}
    chunk_ids = [each.chunk_id for each in found]
    assert leg.score(chunk_ids) == {each.chunk_id: each.score for each in found}
    shelf.pool.close()


def test_each_search_ranks_and_filters_what_is_there_by_then(shelf):
    shelf.put("a.md", "apple")
    assert shelf.paths("apple") == ["a.md"]
    shelf.put("b.md", "apple and more", kind="code")
    assert shelf.paths("apple") == ["a.md", "b.md"]
    assert shelf.paths("apple", kind=(ChunkKind.CODE,)) == ["b.md"]
    shelf.drop("a.md")
    assert shelf.paths("apple") == ["b.md"]


def test_chosen_chunks_are_scored_whatever_the_filters_and_score_nothing_without_a_term(shelf):
    shelf.put("a.md", "apple", "pear")
    first, second = chunk_id("a.md"), chunk_id("a.md", 1)
    assert shelf.leg("apple").score([second, "0" * 32]) == {second: 0.0, "0" * 32: 0.0}
    scored = shelf.leg("apple").score([first])
    assert scored[first] > 0
    assert shelf.leg("apple", path_glob=("b/*",)).score([first]) == scored


def test_word_of_a_heading_that_weighs_nothing_is_found_there(shelf):
    shelf.put("a.md", "apple", breadcrumb="Deployment")
    shelf.put("b.md", "fig")
    for query in ("deployment", "deployment fig"):
        found = LexicalLeg(shelf.reading(), query, breadcrumb_weight=0.0).search(10)
        assert {each.chunk_id: each.score for each in found}[chunk_id("a.md")] == 0.0


def test_match_of_a_raw_query_is_scored_as_it_is_found(shelf):
    shelf.put("a.md", "apple", "apple pear", "pear tree apple apple", "apple plum", "other")
    ids = [*(chunk_id("a.md", n) for n in range(5)), "0" * 32]
    for query, count in (("'apple NOT plum'", 3), ("'app* OR \"pear tree\"'", 4)):
        found = {each.chunk_id: each.score for each in shelf.leg(query).search(10)}
        leg = shelf.leg(query)
        leg.search(1)
        assert len(found) == count
        assert leg.score(ids) == dict.fromkeys(ids, 0.0) | found


def test_what_was_scored_ahead_is_known_when_the_mirror_is_gone(shelf):
    shelf.put("a.md", "apple", "apple pear pear", "pear")
    ids = [chunk_id("a.md", n) for n in range(3)]
    leg, scores = shelf.leg("apple"), shelf.leg("apple").score(ids)
    (found,) = leg.search(1)
    leg.score_ahead(ids)
    for path in shelf.files.directory.glob("*.sqlite3"):
        path.unlink()
    shelf.pool.close()
    others = set(ids) - {found.chunk_id}
    assert leg.score(sorted(others)) == {id_: scores[id_] for id_ in others}
    with pytest.raises(LegTimeout):
        leg.score([found.chunk_id])


def test_nothing_is_scored_ahead_for_a_leg_that_was_stopped(shelf, monkeypatch):
    shelf.put("a.md", "apple")
    monkeypatch.setattr(MirrorReading, "is_late", lambda reading: True)
    leg = shelf.leg("apple")
    with pytest.raises(LegTimeout):
        leg.search(10)
    monkeypatch.setattr(LexicalLeg, "score", None)
    leg.score_ahead(["0" * 32])


def test_kind_and_language_narrow_raw_and_plain_queries_and_follow_changes(shelf):
    shelf.put("a.py", "apple", kind="code", code_lang="python", trust="primary")
    shelf.put("a.md", "apple", trust="primary")
    shelf.put("a.rs", "apple", kind="code", code_lang="rust")
    code, prose = (ChunkKind.CODE,), (ChunkKind.INFO,)
    for query in ("apple", "'apple'"):
        assert sorted(shelf.paths(query, kind=code)) == ["a.py", "a.rs"]
        assert sorted(shelf.paths(query, kind=code + prose)) == ["a.md", "a.py", "a.rs"]
        assert sorted(shelf.paths(query, code_lang=("python", "rs"))) == ["a.py", "a.rs"]
    assert shelf.paths("apple", kind=code, trust_min=TrustLevel.PRIMARY) == ["a.py"]
    assert shelf.paths("apple", code_lang=("rust",), path_not_glob=("*.rs",)) == []
    shelf.put("a.py", "apple", kind="code", code_lang="rust")  # its language has changed
    assert shelf.paths("apple", code_lang=("python",)) == []
    assert sorted(shelf.paths("apple", code_lang=("rust",))) == ["a.py", "a.rs"]


@pytest.mark.parametrize("limit", [10, 1_000])
def test_what_the_units_before_the_time_was_up_found_is_kept(shelf, monkeypatch, limit):
    shelf.put("a.md", *("apple" for _ in range(limit)))
    answers = iter([False])
    monkeypatch.setattr(MirrorReading, "is_late", lambda reading: next(answers, True))
    with pytest.raises(LegTimeout) as raised:
        shelf.leg("apple pear").search(limit)
    assert len(raised.value.partial) == limit


def test_leg_without_any_time_raises_wherever_it_is(shelf, monkeypatch, subtests):
    monkeypatch.setattr("search.mirror.query.reader._STEPS", 1)
    shelf.put("a.md", *["apple"] * 100, kind="code")
    for narrowed in ({}, {"kind": (ChunkKind.CODE,)}, {"path_glob": ("**/*.md",)}):
        with subtests.test(narrowed=narrowed):
            leg = LexicalLeg(shelf.reading(limit_s=0.0, **narrowed), "apple pear")
            with pytest.raises(LegTimeout):
                leg.search(10)
            with pytest.raises(LegTimeout):
                leg.score(["0" * 32])
    with pytest.raises(LegTimeout):
        LexicalLeg(shelf.reading(limit_s=0.0), "'apple'").score(["0" * 32])


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE postings SET entries = substr(entries, 1, 7)",
        "UPDATE postings SET entries = x'01000000ffffffff'",
        "UPDATE blocks SET docs = x'00'",
    ],
)
def test_leg_that_meets_damaged_postings_withdraws_the_mirror(shelf, sql):
    shelf.put("a.md", "apple")
    shelf.damage(sql)
    with pytest.raises(LegTimeout):
        shelf.leg("apple").search(10)
    assert not (shelf.files.directory / "CURRENT").exists()


HARBOUR = (
    "def find_harbour(depth): return {n}",
    "class Pier{n}: find_harbour = None, mooring",
    "call find_harbour and `Dock.find_harbour` {n} times",
    "class Dock: pass {n}",
)


def test_order_in_which_documents_came_changes_no_list(tmp_path, subtests):
    shelves = []
    for order in (range(400), reversed(range(400))):  # more than any leg reads of one name
        shelves.append(Shelf(tmp_path / str(len(shelves))))
        code = {"kind": "code", "code_lang": "python"}
        shelves[-1].put_all(
            document_state(f"{n}.py", [text.format(n=n) for text in HARBOUR], breadcrumb=f"{n}.py", **code)
            for n in order
        )
    names = ("`find_harbour`", "find_harbour()", "Dock.find_harbour")
    for text in (*names, '"class Dock"', "Dock", "`Dock`"):
        for leg in (ExactLeg, LexicalLeg):
            with subtests.test(text=text, leg=leg.__name__):
                there, back = (leg(shelf.reading(), text).search(100) for shelf in shelves)
                assert there == back
                assert len({each.chunk_id for each in there}) == len(there)
    for shelf in shelves:
        shelf.pool.close()
