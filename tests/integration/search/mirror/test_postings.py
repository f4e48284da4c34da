"""The postings against FTS5: the same chunks, the same scores, whatever happened before."""

import random
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from search import analysis
from search.mirror import connections
from search.mirror.apply import Applier
from search.mirror.errors import MirrorDamaged
from search.mirror.postings import (
    Collection,
    PostingsWriter,
    check_postings,
    read_chunk_table,
    read_postings,
    sums_at,
)
from search.mirror.postings import write as postings_write
from search.mirror.postings.score import of_phrase, of_word
from search.mirror.snapshot import ChunkState, DocumentState
from search.retrieval.match import compile_any, units_of

WORDS = ["apple", "pear", "the", "rateLimit", "rate", "部署指南", "fruit", "c++"]


def document(name, texts, breadcrumb="Fruit > Apple"):
    chunks = (
        ChunkState(
            chunk_id=f"{name}{n:030d}",
            kind="info",
            code_lang="",
            row_version=1,
            breadcrumb=breadcrumb,
            text=text,
        )
        for n, text in enumerate(texts)
    )
    return DocumentState(
        doc_id=name,
        path=f"{name}.md",
        lang="en",
        trust_level="unknown",
        media="text",
        source_key="s",
        version_tag="",
        indexed_at=0.0,
        tags=(),
        chunks=tuple(chunks),
    )


def apply(connection, *states, gone=()):
    with connection:
        applier = Applier(connection)
        for state in states:
            applier.upsert(state)
        for doc_id in gone:
            applier.delete(doc_id)
        applier.finish()


def ranked_by_fts5(connection, query):
    expression = compile_any(units_of(query.split(), analysis))
    rows = connection.execute(
        "SELECT rowid, -bm25(chunks_fts, 0, 0, 2, 1) FROM chunks_fts WHERE chunks_fts MATCH ?", (expression,)
    )
    return dict(rows)


def ranked_by_postings(connection, query):
    chunks = read_chunk_table(connection)
    added = []
    for unit in units_of(query.split(), analysis):
        if unit.is_word:
            found = read_postings(connection, unit.positions[0])
            added.append(of_word(chunks, (2.0, 1.0), list(found.values())))
        else:
            matches = connection.execute(
                "SELECT rowid, bm25(chunks_fts, 0, 0, 2, 1) FROM chunks_fts WHERE chunks_fts MATCH ?",
                (unit.expression,),
            )
            added.append(of_phrase(matches.fetchall()))
    rows = np.arange(len(chunks.docs))
    sums = sums_at(rows, added, len(rows))
    return {int(row): sums[row] for row in np.flatnonzero(sums)}


@pytest.fixture
def mirror(tmp_path):
    connection = connections.create_file(tmp_path / "m.sqlite3")
    yield connection
    connection.close()


texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
steps = st.lists(
    st.tuples(st.sampled_from("abcd"), st.one_of(st.none(), st.lists(texts, max_size=4, unique=True))),
    min_size=1,
    max_size=12,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(steps=steps, query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4, unique=True).map(" ".join))
def test_whatever_happened_before_the_scores_are_fts5_s(tmp_path_factory, steps, query):
    connection = connections.create_file(tmp_path_factory.mktemp("m") / "m.sqlite3")
    for name, texts_ in steps:
        if texts_ is None:
            apply(connection, gone=[name])
        else:
            apply(connection, document(name, texts_))
        check_postings(connection)
    assert ranked_by_postings(connection, query) == pytest.approx(ranked_by_fts5(connection, query), rel=1e-9)
    connection.close()


def test_parts_are_merged_and_stay_few(mirror):
    rng = random.Random(7)
    for n in range(200):
        apply(mirror, document(f"{n:02x}", [" ".join(rng.choices(WORDS, k=5))]))
    assert mirror.execute("SELECT count(*) FROM parts").fetchone()[0] <= 9
    check_postings(mirror)
    assert ranked_by_postings(mirror, "apple rate") == pytest.approx(ranked_by_fts5(mirror, "apple rate"))


def test_a_full_part_is_left_alone(mirror, monkeypatch):
    monkeypatch.setattr(postings_write, "_LARGEST_PART", 10)
    for n in range(50):
        apply(mirror, document(f"{n:02x}", ["apple"]))
    counts = [count for (count,) in mirror.execute("SELECT chunk_count FROM parts")]
    assert max(counts) <= 10
    assert sum(counts) == 50
    check_postings(mirror)


def test_many_chunks_in_one_transaction_are_written_in_parts(mirror, monkeypatch):
    monkeypatch.setattr(postings_write, "_LARGEST_PART", 10)
    apply(mirror, *(document(f"{n:02x}", ["apple pear", "pear"]) for n in range(20)))
    assert mirror.execute("SELECT count(*) FROM parts").fetchone()[0] >= 4
    check_postings(mirror)


def test_many_removed_in_one_transaction_are_taken_out_in_turns(mirror, monkeypatch):
    monkeypatch.setattr(postings_write, "_MOST_REMOVED", 10)
    taken, real = [], PostingsWriter._take_out

    def counted(writer):
        taken.append(sum(map(len, writer._removed.values())))
        real(writer)

    before = [document(f"{n:02x}", ["apple pear", f"pear secret{n}", "fruit the"]) for n in range(20)]
    apply(mirror, *before)
    monkeypatch.setattr(PostingsWriter, "_take_out", counted)
    after = [document(f"{n:02x}", ["apple pear", f"rate {n}"], "Fruit > Pear") for n in range(0, 20, 2)]
    apply(mirror, *after, gone=[f"{n:02x}" for n in range(1, 20, 2)])
    assert 10 <= max(taken) <= 15
    assert sum(taken) > 100
    check_postings(mirror)
    terms = {term for (term,) in mirror.execute("SELECT term FROM postings")}
    assert not [term for term in terms if term.startswith("secret")]
    assert ranked_by_postings(mirror, "apple pear") == pytest.approx(ranked_by_fts5(mirror, "apple pear"))


def test_no_term_of_a_removed_chunk_stays(mirror):
    apply(mirror, document("a", ["apple secret"]), document("b", ["apple"]))
    apply(mirror, gone=["a"])
    terms = {term for (term,) in mirror.execute("SELECT term FROM postings")}
    assert "secret" not in terms
    assert "appl" in terms


def test_a_transaction_that_is_rolled_back_leaves_the_postings(mirror):
    apply(mirror, document("a", ["apple"]))
    with pytest.raises(RuntimeError), mirror:
        applier = Applier(mirror)
        applier.upsert(document("a", ["pear"]))
        applier.finish()
        raise RuntimeError
    check_postings(mirror)
    assert list(read_postings(mirror, ["appl", "pear"])) == ["appl"]


def test_a_term_more_often_in_a_chunk_than_can_be_counted_is_counted_at_its_most(mirror):
    apply(mirror, document("a", ["apple " * 70_000, "pear"]))
    check_postings(mirror)
    assert read_postings(mirror, ["appl"])["appl"].in_text.tolist() == [65_535, 0]


def test_hundreds_of_occurrences_are_all_counted(mirror):
    apply(mirror, document("a", ["pear " * 400, "pear " * 300, "apple"]), document("b", ["fruit"]))
    assert ranked_by_postings(mirror, "pear") == pytest.approx(ranked_by_fts5(mirror, "pear"), rel=1e-9)


def test_a_terms_frequency_is_the_number_of_its_chunks_over_all_parts(mirror):
    for n in range(9):
        apply(mirror, document(f"{n:02x}", ["pear", "pear apple"]))
    whole = Collection(read_chunk_table(mirror))
    assert whole.frequencies(mirror, ["pear", "nowhere"]) == {"pear": 18}


def test_a_chunk_that_changes_its_kind_is_of_the_new_one(mirror):
    before = document("a", ["apple", "pear"])
    apply(mirror, before)
    code = replace(before.chunks[1], kind="code", row_version=2)
    apply(mirror, replace(before, chunks=(before.chunks[0], code)))
    check_postings(mirror)
    assert np.flatnonzero(read_chunk_table(mirror).are_of(["code"])).tolist() == [2]


def test_a_check_takes_no_more_memory_of_more_terms(mirror):
    for n in range(20):
        words = (" ".join(f"w{n}x{chunk}y{word}" for word in range(10)) for chunk in range(150))
        apply(mirror, document(f"{n:02x}", list(words)))
    assert mirror.execute("SELECT count(*) FROM chunks_vocab").fetchone()[0] > 30_000
    tracemalloc.start()
    try:
        check_postings(mirror)
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most_bytes < 1_500_000


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM postings WHERE term = 'appl'",
        "UPDATE postings SET entries = substr(entries, 1, 8) WHERE term = 'appl'",
        "UPDATE postings SET term = 'other' WHERE term = 'pear'",
        "UPDATE postings SET entries = substr(entries, 1, 7) WHERE term = 'appl'",
        "UPDATE blocks SET docs = zeroblob(length(docs))",
        "UPDATE blocks SET docs = substr(docs, 1, 8)",
        "UPDATE blocks SET kinds = randomblob(length(kinds))",
        "UPDATE blocks SET lengths = zeroblob(length(lengths))",
    ],
)
def test_damage_is_found(mirror, damage):
    apply(mirror, document("a", ["apple", "apple pear"]))
    mirror.execute(damage)
    with pytest.raises(MirrorDamaged):
        check_postings(mirror)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE postings SET entries = substr(entries, 1, 7)",
        "UPDATE postings SET entries = x'01000000ffffffff'",
        "UPDATE postings SET entries = CAST(entries || entries || entries AS BLOB)",
        "UPDATE blocks SET lengths = x''",
    ],
)
def test_damage_that_a_query_meets_is_named(mirror, damage):
    apply(mirror, document("a", ["apple", "apple pear"]))
    mirror.execute(damage)
    with pytest.raises(MirrorDamaged):
        ranked_by_postings(mirror, "apple")


@pytest.mark.parametrize("damage", ["DELETE FROM postings", "DELETE FROM parts"])
def test_damage_that_a_removal_meets_is_named(mirror, damage):
    apply(mirror, document("a", ["apple"]))
    mirror.execute(damage)
    with pytest.raises(MirrorDamaged):
        apply(mirror, gone=["a"])


def test_an_empty_mirror_has_nothing_to_score(mirror):
    assert ranked_by_postings(mirror, "apple") == {}
    assert read_chunk_table(mirror).chunk_count == 0


def test_another_connection_reads_the_state_of_its_transaction(mirror, tmp_path):
    apply(mirror, document("a", ["apple"]))
    reader = connections.open_reader(tmp_path / "m.sqlite3")
    reader.execute("BEGIN")
    assert list(read_postings(reader, ["appl"])) == ["appl"]
    apply(mirror, document("a", ["pear"]))
    assert list(read_postings(reader, ["appl"])) == ["appl"]
    reader.execute("ROLLBACK")
    reader.close()
