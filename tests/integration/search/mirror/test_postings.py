"""The postings give the same chunks and scores as FTS5 after any changes."""

import random
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from search import analysis
from search.mirror import connections
from search.mirror.files import MirrorDamaged
from search.mirror.postings import (
    Collection,
    PostingsWriter,
    check_postings,
    read_chunk_table,
    read_postings,
    rows_of_all,
    rows_of_best,
    sums_at,
)
from search.mirror.postings import score as weighing
from search.mirror.postings import write as postings_write
from search.mirror.postings.collection import ContributionCache
from search.mirror.postings.score import PrecomputedContribution, phrase_contribution, word_contribution
from search.mirror.sync.apply import Applier
from search.retrieval.query.match_units import build_units, compile_any
from tests.integration.search.mirror.factories import apply, document_state

WORDS = ["apple", "pear", "the", "rateLimit", "rate", "部署指南", "fruit", "c++"]


def document(name, texts, breadcrumb="Fruit > Apple"):
    return document_state(name, texts, breadcrumb=breadcrumb)


def fts5_scores(connection, query):
    expression = compile_any(build_units(query.split(), analysis))
    rows = connection.execute(
        "SELECT rowid, -bm25(chunks_fts, 0, 0, 2, 1) FROM chunks_fts WHERE chunks_fts MATCH ?", (expression,)
    )
    return dict(rows)


def postings_scores(connection, query):
    chunks = read_chunk_table(connection)
    added = []
    for unit in build_units(query.split(), analysis):
        if unit.is_word:
            found = read_postings(connection, unit.positions[0])
            added.append(word_contribution(chunks, (2.0, 1.0), list(found.values())))
        else:
            matches = connection.execute(
                "SELECT rowid, bm25(chunks_fts, 0, 0, 2, 1) FROM chunks_fts WHERE chunks_fts MATCH ?",
                (unit.expression,),
            )
            added.append(phrase_contribution(matches.fetchall()))
    rows = np.arange(len(chunks.docs))
    sums = sums_at(rows, added, len(rows))
    return {int(row): sums[row] for row in np.flatnonzero(sums)}


def assert_equals_fts5(connection, query):
    check_postings(connection)
    ranked = postings_scores(connection, query)
    assert ranked == pytest.approx(fts5_scores(connection, query), rel=1e-9)


def terms_of(connection):
    return {term for (term,) in connection.execute("SELECT term FROM postings")}


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


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=steps, query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4, unique=True).map(" ".join))
def test_scores_equal_fts5_after_any_changes(tmp_path_factory, steps, query):
    connection = connections.create_file(tmp_path_factory.mktemp("m") / "m.sqlite3")
    for name, texts_ in steps:
        if texts_ is None:
            apply(connection, gone=[name])
        else:
            apply(connection, document(name, texts_))
        check_postings(connection)
    assert_equals_fts5(connection, query)
    connection.close()


def test_parts_are_merged_and_stay_few(mirror):
    rng = random.Random(7)
    for n in range(200):
        apply(mirror, document(f"{n:02x}", [" ".join(rng.choices(WORDS, k=5))]))
    assert mirror.execute("SELECT count(*) FROM parts").fetchone()[0] <= 9
    assert_equals_fts5(mirror, "apple rate")


def test_full_part_is_left_alone_and_many_chunks_are_written_in_parts(mirror, monkeypatch):
    monkeypatch.setattr(postings_write, "_LARGEST_PART", 10)
    for n in range(50):
        apply(mirror, document(f"{n:02x}", ["apple"]))
    counts = [count for (count,) in mirror.execute("SELECT chunk_count FROM parts")]
    assert max(counts) <= 10
    assert sum(counts) == 50
    check_postings(mirror)
    apply(mirror, *(document(f"more{n:02x}", ["apple pear", "pear"]) for n in range(20)))
    assert mirror.execute("SELECT count(*) FROM parts").fetchone()[0] >= len(counts) + 4
    check_postings(mirror)


def test_many_removed_chunks_are_deleted_in_batches(mirror, monkeypatch):
    monkeypatch.setattr(postings_write, "_MOST_REMOVED", 10)
    taken, real = [], PostingsWriter._delete_entries

    def note_removed(writer):
        taken.append(sum(map(len, writer._removed.values())))
        real(writer)

    before = [document(f"{n:02x}", ["apple pear", f"pear secret{n}", "fruit the"]) for n in range(20)]
    apply(mirror, *before)
    monkeypatch.setattr(PostingsWriter, "_delete_entries", note_removed)
    after = [document(f"{n:02x}", ["apple pear", f"rate {n}"], "Fruit > Pear") for n in range(0, 20, 2)]
    apply(mirror, *after, gone=[f"{n:02x}" for n in range(1, 20, 2)])
    assert 10 <= max(taken) <= 15
    assert sum(taken) > 100
    assert not [term for term in terms_of(mirror) if term.startswith("secret")]
    assert_equals_fts5(mirror, "apple pear")


def test_no_term_of_a_removed_chunk_stays(mirror):
    apply(mirror, document("a", ["apple secret"]), document("b", ["apple"]))
    apply(mirror, gone=["a"])
    assert "secret" not in terms_of(mirror)
    assert "appl" in terms_of(mirror)


def test_rolled_back_transaction_leaves_the_postings(mirror):
    apply(mirror, document("a", ["apple"]))
    with pytest.raises(RuntimeError), mirror:
        applier = Applier(mirror)
        applier.upsert(document("a", ["pear"]))
        applier.finish()
        raise RuntimeError
    check_postings(mirror)
    assert list(read_postings(mirror, ["appl", "pear"])) == ["appl"]


def test_occurrences_are_counted_up_to_the_most_that_fits(mirror):
    apply(mirror, document("a", ["pear " * 400, "pear " * 300, "apple"]), document("b", ["fruit"]))
    assert_equals_fts5(mirror, "pear")
    apply(mirror, document("c", ["plum " * 70_000, "pear"]))
    check_postings(mirror)
    assert read_postings(mirror, ["plum"])["plum"].in_text.max() == 65_535


def test_frequency_of_a_term_is_the_number_of_its_chunks_over_all_parts(mirror):
    assert postings_scores(mirror, "apple") == {}
    assert read_chunk_table(mirror).chunk_count == 0
    for n in range(9):
        apply(mirror, document(f"{n:02x}", ["pear", "pear apple"]))
    whole = Collection(read_chunk_table(mirror))
    assert whole.frequencies(mirror, ["pear", "nowhere"]) == {"pear": 18}


def test_changed_kind_of_a_chunk_replaces_the_old_one(mirror):
    before = document("a", ["apple", "pear"])
    apply(mirror, before)
    code = replace(before.chunks[1], kind="code", row_version=2)
    apply(mirror, replace(before, chunks=(before.chunks[0], code)))
    check_postings(mirror)
    assert np.flatnonzero(read_chunk_table(mirror).are_of(["code"])).tolist() == [2]


@pytest.mark.slow
def test_postings_check_uses_constant_memory(mirror):
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


DAMAGE = [
    "DELETE FROM postings WHERE term = 'appl'",
    "UPDATE postings SET entries = substr(entries, 1, 8) WHERE term = 'appl'",
    "UPDATE postings SET term = 'other' WHERE term = 'pear'",
    "UPDATE postings SET entries = substr(entries, 1, 7) WHERE term = 'appl'",
    "UPDATE blocks SET docs = zeroblob(length(docs))",
    "UPDATE blocks SET docs = substr(docs, 1, 8)",
    "UPDATE blocks SET kinds = randomblob(length(kinds))",
    "UPDATE blocks SET lengths = zeroblob(length(lengths))",
    "UPDATE blocks SET ids = zeroblob(length(ids))",
]
DAMAGE_FOR_A_QUERY = [
    "UPDATE postings SET entries = substr(entries, 1, 7)",
    "UPDATE postings SET entries = x'01000000ffffffff'",
    "UPDATE postings SET entries = CAST(entries || entries || entries AS BLOB)",
    "UPDATE blocks SET lengths = x''",
    "UPDATE blocks SET ids = substr(ids, 1, 16)",
]
DAMAGE_FOR_A_REMOVAL = ["DELETE FROM postings", "DELETE FROM parts"]


def test_damage_is_found_by_the_check_by_a_query_and_by_a_removal(mirror, subtests):
    apply(mirror, document("a", ["apple", "apple pear"]))
    for statements, find in (
        (DAMAGE, lambda: check_postings(mirror)),
        (DAMAGE_FOR_A_QUERY, lambda: postings_scores(mirror, "apple")),
        (DAMAGE_FOR_A_REMOVAL, lambda: apply(mirror, gone=["a"])),
    ):
        for damage in statements:
            with subtests.test(damage=damage):
                mirror.execute("SAVEPOINT sound")
                try:
                    mirror.execute(damage)
                    with pytest.raises(MirrorDamaged):
                        find()
                finally:
                    mirror.execute("ROLLBACK TO sound")
                    mirror.execute("RELEASE sound")
    check_postings(mirror)


def test_another_connection_reads_the_state_of_its_transaction(mirror, tmp_path):
    apply(mirror, document("a", ["apple"]))
    reader = connections.open_reader(tmp_path / "m.sqlite3")
    reader.execute("BEGIN")
    assert list(read_postings(reader, ["appl"])) == ["appl"]
    apply(mirror, document("a", ["pear"]))
    assert list(read_postings(reader, ["appl"])) == ["appl"]
    reader.execute("ROLLBACK")
    reader.close()


N_ROWS = 20_000


def weighted_query(seed):
    """Return a few words, from rare to common, and the rows that pass a filter."""
    chance = np.random.default_rng(seed)
    found = []
    for count, worth in ((200, 9.0), (1_500, 6.0), (6_000, 1.0), (15_000, 0.3)):
        rows = np.sort(chance.choice(N_ROWS, count, replace=False))
        found.append(PrecomputedContribution.of(rows, worth * chance.random(count)))
    return found, chance.random(N_ROWS) < 0.8


def sums_of(found):
    sums = np.zeros(N_ROWS)
    for each in found:
        sums[each.rows] += each.scores
    return sums


def test_pruned_rows_still_contain_the_best_ones(subtests):
    for seed in range(5):
        found, passes = weighted_query(seed)
        best = np.argsort(-np.where(passes, sums_of(found), 0.0), kind="stable")
        for limit in (1, 10, 100, 1_000):
            with subtests.test(seed=seed, limit=limit):
                kept = rows_of_best(found, passes, limit)
                assert set(best[:limit].tolist()) <= set(kept.tolist())
                assert passes[kept].all()


def test_common_words_are_not_added_up_for_all_rows(monkeypatch):
    found, passes = weighted_query(0)
    kept = len(rows_of_best(found, passes, 10))
    monkeypatch.setattr(weighing, "_LONG", N_ROWS + 1)
    assert kept < len(rows_of_best(found, passes, 10)) / 10


def test_sums_of_selected_rows_equal_sums_of_all_rows():
    found, _ = weighted_query(1)
    for count in (0, 3, 300, N_ROWS):
        rows = np.sort(np.random.default_rng(2).choice(N_ROWS, count, replace=False))
        assert sums_at(rows, found, N_ROWS).tolist() == sums_of(found)[rows].tolist()
    every = set.intersection(*(set(each.rows.tolist()) for each in found))
    assert rows_of_all(found).tolist() == sorted(every)


def word(term):
    return (term,), (2.0, 1.0)


def contribution(entries):
    return PrecomputedContribution.of(np.arange(entries), np.ones(entries))


def test_contribution_cache_evicts_the_least_recently_used_word():
    recent = ContributionCache(max_entries=5)
    recent.put({word("a"): contribution(2), word("b"): contribution(2)})
    assert recent.get([word("a")])
    assert recent.get([(("a",), (1.0, 1.0))]) == {}  # other weights are another word
    recent.put({word("c"): contribution(2)})
    assert recent.get([word("a"), word("b"), word("c")]).keys() == {word("a"), word("c")}


def test_recent_words_stay_within_their_room():
    recent = ContributionCache(max_entries=5)
    recent.put({word("a"): contribution(6)})
    assert recent.get([word("a")]) == {}  # longer than all there is room for
    for _ in range(5):  # kept again and again, it takes room once
        recent.put({word("a"): contribution(3)})
    recent.put({word("b"): contribution(2)})
    assert recent.get([word("a"), word("b")]).keys() == {word("a"), word("b")}
    empty = ContributionCache(max_entries=5)
    for term in "abcdef":
        empty.put({word(term): contribution(0)})
    assert empty.get(map(word, "abcdef")).keys() == {word(term) for term in "bcdef"}
