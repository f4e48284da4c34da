"""The lexical leg on a mirror of its own: FTS5's scores and order, under filters, late or damaged."""

import uuid

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from search.mirror import connections, lexical, schema
from search.mirror.apply import Applier
from search.mirror.connections import ReaderPool
from search.mirror.files import MirrorFiles
from search.mirror.filters import filter_clause
from search.mirror.lexical import LexicalLeg
from search.mirror.reading import MirrorReading
from search.mirror.snapshot import ChunkState, DocumentState
from search.retrieval.errors import LegTimeout
from search.retrieval.filters import ChunkKind, SearchFilters, TrustLevel
from search.retrieval.score import lexical_score
from search.scope import Scope

WORDS = ["apple", "pear", "the", "rateLimit", "rate", "部署指南", "部", "c++", "path/to", "fruit", "über"]
LIMIT_S = 60.0
RANKED = """
SELECT chunk_id, bm25(chunks_fts, 0, 0, ?, ?) AS score,
    rowid IN (SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?) AS has_every
FROM chunks_fts WHERE chunks_fts MATCH ? {clause} ORDER BY has_every DESC, score, chunk_id
"""


class Shelf:
    """A mirror that is written and asked without Postgres."""

    def __init__(self, root):
        self.files = MirrorFiles.of(root, uuid.uuid4())
        self.pool = ReaderPool()
        self.seq = 0
        with self.files.writing():
            path = self.files.unpublished()
            connections.create_file(path).close()
            self.files.publish(path)

    def put(self, path, *texts, breadcrumb="Fruit", kind="info", code_lang="", lang="en", trust="unknown"):
        doc_id = uuid.uuid5(uuid.NAMESPACE_URL, path).hex
        chunks = (
            ChunkState(
                chunk_id=uuid.uuid5(uuid.NAMESPACE_URL, f"{path}#{n}").hex,
                kind=kind,
                code_lang=code_lang,
                row_version=1,
                breadcrumb=breadcrumb,
                text=text,
            )
            for n, text in enumerate(texts)
        )
        state = DocumentState(
            doc_id=doc_id,
            path=path,
            lang=lang,
            trust_level=trust,
            media="text",
            source_key="s",
            version_tag="",
            indexed_at=0.0,
            tags=(),
            chunks=tuple(chunks),
        )
        self.change(lambda applier: applier.upsert(state))

    def drop(self, path):
        self.change(lambda applier: applier.delete(uuid.uuid5(uuid.NAMESPACE_URL, path).hex))

    def change(self, write):
        connection = connections.open_writer(self.files.current())
        with connection:
            applier = Applier(connection)
            write(applier)
            applier.finish()
            self.seq += 1
            connection.execute(schema.WRITE_META, ("applied_seq", self.seq))
        connection.close()

    def damage(self, sql):
        connection = connections.open_writer(self.files.current())
        connection.execute(sql)
        connection.close()

    def reading(self, limit_s=LIMIT_S, **filters):
        scope = Scope(
            workspace_id=uuid.uuid4(),
            filters=SearchFilters(**filters),
            head_seq=0,
            space=None,
            sources=None,
            readable=None,
            version_tags=(),
        )
        return MirrorReading(self.files, self.pool, scope, limit_s=limit_s)

    def leg(self, text, **filters):
        return LexicalLeg(self.reading(**filters), text)

    def paths(self, text, limit=100, **filters):
        ids = [found.chunk_id for found in self.leg(text, **filters).search(limit)]
        with self.reading().connection() as connection:
            path_of = dict(
                connection.execute("SELECT c.chunk_id, d.path FROM chunks c JOIN documents d USING (doc)")
            )
        return [path_of[chunk_id] for chunk_id in ids]


@pytest.fixture
def shelf(tmp_path):
    shelf = Shelf(tmp_path)
    yield shelf
    shelf.pool.close()


def ranked_by_fts5(leg, reading):
    """Give (chunk id, score) as FTS5 alone ranks the leg's match: all terms first, by the relaxed score."""
    match, clause = leg.match, filter_clause(reading.scope)
    with reading.connection() as connection:
        scored = connection.execute(
            RANKED.format(clause=clause.sql),
            (
                lexical.BREADCRUMB_WEIGHT,
                lexical.TEXT_WEIGHT,
                match.every,
                " OR ".join(unit.expression for unit in match.some_units),
                *clause.values,
            ),
        ).fetchall()
    return [(chunk_id, lexical_score(score)) for chunk_id, score, _ in scored]


documents = st.lists(
    st.lists(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), max_size=4),
    min_size=1,
    max_size=8,
)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    written=documents,
    dropped=st.sets(st.integers(0, 7), max_size=3),
    query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join),
    narrowed=st.sampled_from(
        [
            {},
            {"kind": (ChunkKind.CODE,)},
            {"path_glob": ("[0-3].md",)},
            {"path_not_glob": ("[0-3].md",)},
            {"code_lang": ("python",)},
        ]
    ),
)
def test_the_leg_ranks_and_scores_as_fts5_does(tmp_path_factory, written, dropped, query, narrowed):
    shelf = Shelf(tmp_path_factory.mktemp("shelf"))
    for n, texts in enumerate(written):
        shelf.put(f"{n}.md", *texts, kind=("info", "code")[n % 2], code_lang=("", "python")[n % 2])
    for n in dropped:
        shelf.drop(f"{n}.md")
    leg = shelf.leg(query, **narrowed)
    found = leg.search(1_000)
    expected = ranked_by_fts5(leg, leg._reading)
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


def test_chunks_without_a_term_and_unknown_chunks_score_nothing(shelf):
    shelf.put("a.md", "apple", "pear")
    other = uuid.uuid5(uuid.NAMESPACE_URL, "a.md#1").hex
    assert shelf.leg("apple").score([other, "0" * 32]) == {other: 0.0, "0" * 32: 0.0}


@pytest.mark.parametrize("query", ["deployment", "deployment fig"])
def test_what_counts_nothing_in_headings_is_found_there(shelf, query):
    shelf.put("a.md", "apple", breadcrumb="Deployment")
    shelf.put("b.md", "fig")
    (found,) = (
        each
        for each in LexicalLeg(shelf.reading(), query, breadcrumb_weight=0.0).search(10)
        if each.chunk_id == uuid.uuid5(uuid.NAMESPACE_URL, "a.md#0").hex
    )
    assert found.score == 0.0


@pytest.mark.parametrize("query", ["'apple NOT plum'", "'app* OR \"pear tree\"'"])
def test_what_matches_a_raw_query_is_scored_as_it_is_found(shelf, query):
    shelf.put("a.md", "apple", "apple pear", "pear tree apple apple", "apple plum", "other")
    ids = [uuid.uuid5(uuid.NAMESPACE_URL, f"a.md#{n}").hex for n in range(5)]
    found = {each.chunk_id: each.score for each in shelf.leg(query).search(10)}
    leg = shelf.leg(query)
    leg.search(1)
    assert len(found) in (3, 4)
    assert leg.score([*ids, "0" * 32]) == dict.fromkeys([*ids, "0" * 32], 0.0) | found


def test_scoring_by_a_raw_query_ends_with_the_time_of_the_leg(shelf, monkeypatch):
    shelf.put("a.md", *["apple"] * 100)
    monkeypatch.setattr("search.mirror.reading._STEPS", 1)
    with pytest.raises(LegTimeout):
        LexicalLeg(shelf.reading(limit_s=0.0), "'apple'").score(["0" * 32])


def test_what_was_scored_ahead_is_known_when_the_mirror_is_gone(shelf):
    shelf.put("a.md", "apple", "apple pear pear", "pear")
    first, second, third = (uuid.uuid5(uuid.NAMESPACE_URL, f"a.md#{n}").hex for n in range(3))
    leg, scores = shelf.leg("apple"), shelf.leg("apple").score([first, second, third])
    (found,) = leg.search(1)
    leg.score_ahead([first, second, third])
    for path in shelf.files.directory.glob("*.sqlite3"):
        path.unlink()
    shelf.pool.close()

    others = {first, second, third} - {found.chunk_id}
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


def test_chosen_chunks_are_scored_whatever_the_filters(shelf):
    shelf.put("a.md", "apple")
    chunk_id = uuid.uuid5(uuid.NAMESPACE_URL, "a.md#0").hex
    assert shelf.leg("apple", path_glob=("b/*",)).score([chunk_id]) == shelf.leg("apple").score([chunk_id])


def test_each_kind_is_found_alone_and_with_other_filters(shelf):
    shelf.put("code.md", "apple", kind="code", trust="primary")
    shelf.put("prose.md", "apple", trust="primary")
    shelf.put("doubtful.md", "apple", kind="code")
    assert sorted(shelf.paths("apple", kind=(ChunkKind.CODE,))) == ["code.md", "doubtful.md"]
    assert shelf.paths("apple", kind=(ChunkKind.INFO,)) == ["prose.md"]
    assert shelf.paths("apple", kind=(ChunkKind.CODE,), trust_min=TrustLevel.PRIMARY) == ["code.md"]
    assert len(shelf.paths("apple", kind=(ChunkKind.CODE, ChunkKind.INFO))) == 3
    assert sorted(shelf.paths("'apple'", kind=(ChunkKind.CODE,))) == ["code.md", "doubtful.md"]


def test_each_language_is_found_alone_and_with_other_filters(shelf):
    shelf.put("a.py", "apple", kind="code", code_lang="python")
    shelf.put("a.rs", "apple", kind="code", code_lang="rust")
    shelf.put("a.md", "apple")
    assert shelf.paths("apple", code_lang=("python",)) == ["a.py"]
    assert sorted(shelf.paths("'apple'", code_lang=("python", "rs"))) == ["a.py", "a.rs"]
    assert shelf.paths("apple", code_lang=("rust",), path_not_glob=("*.rs",)) == []


def test_a_chunk_that_changes_its_language_is_of_the_new_one(shelf):
    shelf.put("a.txt", "apple", kind="code", code_lang="python")
    shelf.put("a.txt", "apple", kind="code", code_lang="rust")
    assert shelf.paths("apple", code_lang=("python",)) == []
    assert shelf.paths("apple", code_lang=("rust",)) == ["a.txt"]


def test_one_chunk_inside_the_glob_is_found_behind_three_hundred_better_ones(shelf):
    shelf.put("out/a.md", *(f"apple apple {n}" for n in range(300)))
    shelf.put("in/b.md", "apple " + "and many other words " * 20)
    assert shelf.paths("apple", limit=1, path_glob=("in/*",)) == ["in/b.md"]


@pytest.mark.parametrize("limit", [10, 1_000])
def test_what_the_units_before_the_time_was_up_found_is_named(shelf, monkeypatch, limit):
    shelf.put("a.md", *("apple" for _ in range(limit)))
    answers = iter([False])
    monkeypatch.setattr(MirrorReading, "is_late", lambda reading: next(answers, True))
    with pytest.raises(LegTimeout) as raised:
        shelf.leg("apple pear").search(limit)
    assert len(raised.value.partial) == limit


@pytest.mark.parametrize("narrowed", [{}, {"kind": (ChunkKind.CODE,)}, {"path_glob": ("**/*.md",)}])
def test_a_leg_without_any_time_says_so_wherever_it_is(shelf, narrowed, monkeypatch):
    monkeypatch.setattr("search.mirror.reading._STEPS", 1)
    shelf.put("a.md", "apple", kind="code")
    leg = LexicalLeg(shelf.reading(limit_s=0.0, **narrowed), "apple pear")
    with pytest.raises(LegTimeout):
        leg.search(10)
    with pytest.raises(LegTimeout):
        leg.score(["0" * 32])


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE postings SET entries = substr(entries, 1, 7)",
        "UPDATE postings SET entries = x'01000000ffffffff'",
        "UPDATE blocks SET docs = x'00'",
    ],
)
def test_a_leg_that_meets_damaged_postings_withdraws_the_mirror(shelf, sql):
    shelf.put("a.md", "apple")
    shelf.damage(sql)
    with pytest.raises(LegTimeout, match="not ready"):
        shelf.leg("apple").search(10)
    assert not (shelf.files.directory / "CURRENT").exists()
