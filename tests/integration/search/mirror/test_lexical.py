"""The lexical leg on a standalone mirror: FTS5's scores and order, filtered, late or damaged."""

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
from tests.integration.search.mirror.factories import StandaloneMirror, chunk_id, document_state

WORDS = ["apple", "pear", "the", "rateLimit", "rate", "部署指南", "部", "c++", "path/to", "fruit", "über"]
RANKED = """
SELECT chunk_id, bm25(chunks_fts, 0, 0, ?, ?) AS score,
    rowid IN (SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?) AS has_every
FROM chunks_fts WHERE chunks_fts MATCH ? {clause} ORDER BY has_every DESC, score, chunk_id
"""


@pytest.fixture
def mirror(tmp_path):
    mirror = StandaloneMirror(tmp_path)
    yield mirror
    mirror.pool.close()


def fts5_ranking(leg, reading):
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
    mirror = StandaloneMirror(tmp_path_factory.mktemp("mirror"))
    for n, texts in enumerate(written):
        mirror.write(f"{n}.md", *texts, kind=("info", "code")[n % 2], code_lang=("", "python")[n % 2])
    for n in dropped:
        mirror.delete(f"{n}.md")
    leg = mirror.leg(query, **narrowed)
    found = leg.search(1_000)
    expected = fts5_ranking(leg, mirror.reading(**narrowed))
    assert [score for _, score in expected] == pytest.approx([each.score for each in found], rel=1e-9)
    # Scores that differ in the last digit alone may change places.
    assert {each.chunk_id for each in found} == {chunk_id for chunk_id, _ in expected}
    chunk_ids = [each.chunk_id for each in found]
    assert leg.score(chunk_ids) == {each.chunk_id: each.score for each in found}
    mirror.pool.close()


def test_each_search_ranks_and_filters_what_is_there_by_then(mirror):
    mirror.write("a.md", "apple")
    assert mirror.paths("apple") == ["a.md"]
    mirror.write("b.md", "apple and more", kind="code")
    assert mirror.paths("apple") == ["a.md", "b.md"]
    assert mirror.paths("apple", kind=(ChunkKind.CODE,)) == ["b.md"]
    mirror.delete("a.md")
    assert mirror.paths("apple") == ["b.md"]


def test_chosen_chunks_are_scored_whatever_the_filters_and_score_nothing_without_a_term(mirror):
    mirror.write("a.md", "apple", "pear")
    first, second = chunk_id("a.md"), chunk_id("a.md", 1)
    assert mirror.leg("apple").score([second, "0" * 32]) == {second: 0.0, "0" * 32: 0.0}
    scored = mirror.leg("apple").score([first])
    assert scored[first] > 0
    assert mirror.leg("apple", path_glob=("b/*",)).score([first]) == scored


def test_word_of_a_heading_that_weighs_nothing_is_found_there(mirror):
    mirror.write("a.md", "apple", breadcrumb="Deployment")
    mirror.write("b.md", "fig")
    for query in ("deployment", "deployment fig"):
        found = LexicalLeg(mirror.reading(), query, breadcrumb_weight=0.0).search(10)
        assert {each.chunk_id: each.score for each in found}[chunk_id("a.md")] == 0.0


def test_match_of_a_raw_query_is_scored_as_it_is_found(mirror):
    mirror.write("a.md", "apple", "apple pear", "pear tree apple apple", "apple plum", "other")
    ids = [*(chunk_id("a.md", n) for n in range(5)), "0" * 32]
    for query, count in (("'apple NOT plum'", 3), ("'app* OR \"pear tree\"'", 4)):
        found = {each.chunk_id: each.score for each in mirror.leg(query).search(10)}
        leg = mirror.leg(query)
        leg.search(1)
        assert len(found) == count
        assert leg.score(ids) == dict.fromkeys(ids, 0.0) | found


def test_prefetched_scores_survive_the_loss_of_the_mirror(mirror):
    mirror.write("a.md", "apple", "apple pear pear", "pear")
    ids = [chunk_id("a.md", n) for n in range(3)]
    leg, scores = mirror.leg("apple"), mirror.leg("apple").score(ids)
    (found,) = leg.search(1)
    leg.score_ahead(ids)
    for path in mirror.files.directory.glob("*.sqlite3"):
        path.unlink()
    mirror.pool.close()
    others = set(ids) - {found.chunk_id}
    assert leg.score(sorted(others)) == {id_: scores[id_] for id_ in others}
    with pytest.raises(LegTimeout):
        leg.score([found.chunk_id])


def test_stopped_leg_prefetches_no_scores(mirror, monkeypatch):
    mirror.write("a.md", "apple")
    monkeypatch.setattr(MirrorReading, "is_late", lambda reading: True)
    leg = mirror.leg("apple")
    with pytest.raises(LegTimeout):
        leg.search(10)
    monkeypatch.setattr(LexicalLeg, "score", None)
    leg.score_ahead(["0" * 32])


def test_kind_and_language_narrow_raw_and_plain_queries_and_follow_changes(mirror):
    mirror.write("a.py", "apple", kind="code", code_lang="python", trust="primary")
    mirror.write("a.md", "apple", trust="primary")
    mirror.write("a.rs", "apple", kind="code", code_lang="rust")
    code, prose = (ChunkKind.CODE,), (ChunkKind.INFO,)
    for query in ("apple", "'apple'"):
        assert sorted(mirror.paths(query, kind=code)) == ["a.py", "a.rs"]
        assert sorted(mirror.paths(query, kind=code + prose)) == ["a.md", "a.py", "a.rs"]
        assert sorted(mirror.paths(query, code_lang=("python", "rs"))) == ["a.py", "a.rs"]
    assert mirror.paths("apple", kind=code, trust_min=TrustLevel.PRIMARY) == ["a.py"]
    assert mirror.paths("apple", code_lang=("rust",), path_not_glob=("*.rs",)) == []
    mirror.write("a.py", "apple", kind="code", code_lang="rust")  # its language has changed
    assert mirror.paths("apple", code_lang=("python",)) == []
    assert sorted(mirror.paths("apple", code_lang=("rust",))) == ["a.py", "a.rs"]


@pytest.mark.parametrize("limit", [10, 1_000])
def test_results_found_before_the_time_limit_are_kept(mirror, monkeypatch, limit):
    mirror.write("a.md", *("apple" for _ in range(limit)))
    answers = iter([False])
    monkeypatch.setattr(MirrorReading, "is_late", lambda reading: next(answers, True))
    with pytest.raises(LegTimeout) as raised:
        mirror.leg("apple pear").search(limit)
    assert len(raised.value.partial) == limit


def test_leg_without_any_time_raises_wherever_it_is(mirror, monkeypatch, subtests):
    monkeypatch.setattr("search.mirror.query.reader._STEPS", 1)
    mirror.write("a.md", *["apple"] * 100, kind="code")
    for narrowed in ({}, {"kind": (ChunkKind.CODE,)}, {"path_glob": ("**/*.md",)}):
        with subtests.test(narrowed=narrowed):
            leg = LexicalLeg(mirror.reading(limit_s=0.0, **narrowed), "apple pear")
            with pytest.raises(LegTimeout):
                leg.search(10)
            with pytest.raises(LegTimeout):
                leg.score(["0" * 32])
    with pytest.raises(LegTimeout):
        LexicalLeg(mirror.reading(limit_s=0.0), "'apple'").score(["0" * 32])


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE postings SET entries = substr(entries, 1, 7)",
        "UPDATE postings SET entries = x'01000000ffffffff'",
        "UPDATE blocks SET docs = x'00'",
    ],
)
def test_leg_that_meets_damaged_postings_withdraws_the_mirror(mirror, sql):
    mirror.write("a.md", "apple")
    mirror.damage(sql)
    with pytest.raises(LegTimeout):
        mirror.leg("apple").search(10)
    assert not (mirror.files.directory / "CURRENT").exists()


HARBOUR = (
    "def find_harbour(depth): return {n}",
    "class Pier{n}: find_harbour = None, mooring",
    "call find_harbour and `Dock.find_harbour` {n} times",
    "class Dock: pass {n}",
)


def test_order_in_which_documents_came_changes_no_list(tmp_path, subtests):
    mirror_copies = []
    for order in (range(400), reversed(range(400))):  # more than any leg reads of one name
        mirror_copies.append(StandaloneMirror(tmp_path / str(len(mirror_copies))))
        code = {"kind": "code", "code_lang": "python"}
        mirror_copies[-1].write_all(
            document_state(f"{n}.py", [text.format(n=n) for text in HARBOUR], breadcrumb=f"{n}.py", **code)
            for n in order
        )
    names = ("`find_harbour`", "find_harbour()", "Dock.find_harbour")
    for text in (*names, '"class Dock"', "Dock", "`Dock`"):
        for leg in (ExactLeg, LexicalLeg):
            with subtests.test(text=text, leg=leg.__name__):
                there, back = (leg(mirror.reading(), text).search(100) for mirror in mirror_copies)
                assert there == back
                assert len({each.chunk_id for each in there}) == len(there)
    for mirror in mirror_copies:
        mirror.pool.close()
