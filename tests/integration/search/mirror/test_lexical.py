"""The lexical leg on a standalone mirror: FTS5's scores and order, filtered, late or damaged."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from search.mirror.files import MirrorDamaged
from search.mirror.query import lexical
from search.mirror.query.exact import ExactLeg
from search.mirror.query.lexical import LexicalLeg
from search.mirror.query.view import MirrorView
from search.retrieval.fusion.legs import pack_ids
from search.retrieval.fusion.scores import lexical_scores
from search.retrieval.query.filters import ChunkKind, TrustLevel
from tests.integration.search.mirror.factories import StandaloneMirror, chunk_id, document_state
from tests.support.search import scores_by_id

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


def fts5_scores(match, view):
    """Return the scores by id, best first, as FTS5 alone ranks: all terms first, by the relaxed score."""
    some = " OR ".join(unit.expression for unit in match.some_units)
    values = (lexical.BREADCRUMB_WEIGHT, lexical.TEXT_WEIGHT, match.every, some)
    rows = view.connection.execute(RANKED.format(clause=view.clause), values).fetchall()
    scores = lexical_scores(np.array([-score for _, score, _ in rows]))
    return dict(zip([chunk_id for chunk_id, _, _ in rows], scores.tolist(), strict=True))


def join_without_accents(words):
    """Return a query; words with accents would have two units, one of them weighted."""
    return " ".join(words).replace("ü", "u")


texts_of_one = st.lists(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), max_size=4)
documents = st.lists(texts_of_one, min_size=1, max_size=8)
globs = [{"path_glob": ("[0-3].md",)}, {"path_not_glob": ("[0-3].md",)}]
filters = [{}, *globs, {"kind": (ChunkKind.CODE,)}, {"code_lang": ("python",)}]


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    written=documents,
    dropped=st.sets(st.integers(0, 7), max_size=3),
    query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4, unique=True).map(join_without_accents),
    narrowed=st.sampled_from(filters),
)
def test_leg_ranks_and_scores_as_fts5_does(tmp_path_factory, written, dropped, query, narrowed):
    mirror = StandaloneMirror(tmp_path_factory.mktemp("mirror"))
    for n, texts in enumerate(written):
        mirror.write(f"{n}.md", *texts, kind=("info", "code")[n % 2], code_lang=("", "python")[n % 2])
    for n in dropped:
        mirror.delete(f"{n}.md")
    with mirror.source(**narrowed).open() as view:
        found = LexicalLeg(view, query).search(1_000)
        expected = fts5_scores(found.match, view)
        assert list(expected.values()) == pytest.approx(found.scores.tolist(), rel=1e-9)
        # Scores that differ in the last digit alone may change places.
        assert expected.keys() == scores_by_id(found).keys()
        assert found.score(found.ids).tolist() == found.scores.tolist()
    mirror.pool.close()


def test_lexical_search_sees_writes_and_deletions_at_once(mirror):
    mirror.write("a.md", "apple")
    assert mirror.paths("apple") == ["a.md"]
    mirror.write("b.md", "apple and more", kind="code")
    assert mirror.paths("apple") == ["a.md", "b.md"]
    assert mirror.paths("apple", kind=(ChunkKind.CODE,)) == ["b.md"]
    mirror.delete("a.md")
    assert mirror.paths("apple") == ["b.md"]


def test_chosen_chunks_are_scored_whatever_the_filters_and_score_nothing_without_a_term(mirror):
    mirror.write("a.md", "apple", "pear")
    ids = pack_ids([chunk_id("a.md"), chunk_id("a.md", 1), "0" * 32])
    with mirror.leg("apple") as leg:
        scored = leg.search(10).score(ids)
    assert scored[0] > 0
    assert scored[1:].tolist() == [0.0, 0.0]
    with mirror.leg("apple", path_glob=("b/*",)) as leg:
        found = leg.search(10)
        assert len(found.ids) == 0
        assert found.score(ids).tolist() == scored.tolist()


def test_word_in_a_heading_of_zero_weight_is_found(mirror):
    mirror.write("a.md", "apple", breadcrumb="Deployment")
    mirror.write("b.md", "fig")
    for query in ("deployment", "deployment fig"):
        with mirror.source().open() as view:
            found = LexicalLeg(view, query, breadcrumb_weight=0.0).search(10)
        assert scores_by_id(found)[chunk_id("a.md")] == 0.0


def test_match_of_a_raw_query_is_scored_as_it_is_found(mirror):
    mirror.write("a.md", "apple", "apple pear", "pear tree apple apple", "apple plum", "other")
    ids = [*(chunk_id("a.md", n) for n in range(5)), "0" * 32]
    for query, count in (("'apple NOT plum'", 3), ("'app* OR \"pear tree\"'", 4)):
        with mirror.leg(query) as leg:
            found = scores_by_id(leg.search(10))
            scores = leg.search(1).score(pack_ids(ids))
        assert len(found) == count
        assert scores.tolist() == [found.get(id_, 0.0) for id_ in ids]


def test_query_without_a_term_scores_nothing(mirror):
    mirror.write("a.md", "apple")
    with mirror.leg("( * )") as leg:
        found = leg.search(10)
        assert (len(found.ids), found.is_complete, found.is_available) == (0, True, True)
        assert found.score(pack_ids([chunk_id("a.md")])).tolist() == [0.0]


def test_query_sees_one_state_of_the_mirror(mirror):
    mirror.write("a.md", "apple", "apple pear pear", "pear")
    ids = pack_ids(chunk_id("a.md", n) for n in range(3))
    with mirror.leg("apple") as leg:
        found = leg.search(1)
        scores = found.score(ids)
        mirror.write("a.md", "plum")
        for path in mirror.files.directory.glob("*.sqlite3"):
            path.unlink()
        assert leg.search(3).ids.tolist() == ids[np.argsort(-scores)][:2].tolist()
        assert found.score(ids).tolist() == scores.tolist()


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
    monkeypatch.setattr(MirrorView, "is_late", lambda view: next(answers, True))
    with mirror.leg("apple pear") as leg:
        found = leg.search(limit)
    assert (len(found.ids), found.is_complete, found.is_available) == (limit, False, True)


def test_lexical_leg_without_time_returns_nothing_and_is_unavailable(mirror, monkeypatch, subtests):
    monkeypatch.setattr("search.mirror.query.view._STEPS", 1)
    mirror.write("a.md", *["apple"] * 100, kind="code")
    for narrowed in ({}, {"kind": (ChunkKind.CODE,)}, {"path_glob": ("**/*.md",)}):
        with subtests.test(narrowed=narrowed), mirror.source(limit_s=0.0, **narrowed).open() as view:
            found = LexicalLeg(view, "apple pear").search(10)
            assert (len(found.ids), found.is_complete, found.is_available) == (0, False, False)


def test_score_without_any_time_is_unknown(mirror, monkeypatch, subtests):
    monkeypatch.setattr("search.mirror.query.view._STEPS", 1)
    mirror.write("a.md", *["apple"] * 100)
    for text in ("apple pear", '"apple pear"', "'apple'"):
        with subtests.test(text=text), mirror.leg(text) as leg, monkeypatch.context() as patched:
            found = leg.search(10)
            patched.setattr(MirrorView, "is_late", lambda view: True)
            assert np.isnan(found.score(pack_ids([chunk_id("a.md"), "0" * 32]))).all()


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE postings SET entries = substr(entries, 1, 7)",
        "UPDATE postings SET entries = x'01000000ffffffff'",
        "UPDATE blocks SET docs = x'00'",
        "UPDATE blocks SET ids = x'00'",
    ],
)
def test_leg_that_meets_damaged_postings_withdraws_the_mirror(mirror, sql):
    mirror.write("a.md", "apple")
    mirror.damage(sql)
    with pytest.raises(MirrorDamaged), mirror.leg("apple") as leg:
        leg.search(10)
    assert not (mirror.files.directory / "CURRENT").exists()


HARBOUR = (
    "def find_harbour(depth): return {n}",
    "class Pier{n}: find_harbour = None, mooring",
    "call find_harbour and `Dock.find_harbour` {n} times",
    "class Dock: pass {n}",
)


def search_copy(mirror, leg, text):
    with mirror.source().open() as view:
        return leg(view, text).search(100)


def test_rankings_do_not_depend_on_the_order_of_writes(tmp_path, subtests):
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
                there, back = (search_copy(mirror, leg, text) for mirror in mirror_copies)
                assert there.ids.tolist() == back.ids.tolist()
                assert there.scores.tolist() == back.scores.tolist()
                assert len(scores_by_id(there)) == len(there.ids)
    for mirror in mirror_copies:
        mirror.pool.close()
