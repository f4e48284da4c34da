"""The statements that one search sends to PostgreSQL and to the mirror."""

from contextlib import contextmanager

import pytest
from django.db import connection

from kebab.people.reader import Reader
from search.access.scope import resolve_scope
from search.engine.hits import HitBuilder
from search.engine.readback import read_hits
from search.engine.search import lexical_leg
from search.mirror.connections import ReaderPool
from search.mirror.query import lexical
from search.mirror.query.lexical import LexicalLeg, compile_match
from search.models import Chunk, ChunkVector
from search.retrieval.query.filters import SearchFilters
from search.retrieval.types import Mode
from tests.support.corpus import write_each
from tests.support.search import ask

IDS_ASKED = f'"{Chunk._meta.db_table}"."chunk_id" = ANY'


def fill(workspace):
    write_each(workspace, [f"apple {'pear ' * n}" for n in range(40)])


@pytest.fixture
def orchard(filled, settings):
    settings.KEBAB_PLAN_ONCE = False  # statements are known by their texts here
    return filled


@pytest.fixture
def sent_statements():
    """Return the list of statements sent to PostgreSQL, with their values."""
    statements = []

    def note(execute, sql, params, many, context):
        statements.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield statements


@pytest.fixture
def read(monkeypatch):
    """Return the list of statements sent to mirrors."""
    statements = []
    lend = ReaderPool.reader

    def note(cursor, sql, values):
        statements.append(sql)
        return True

    @contextmanager
    def lend_traced(pool, path):
        with lend(pool, path) as reader:
            reader.set_exec_trace(note)
            try:
                yield reader
            finally:
                reader.set_exec_trace(None)

    monkeypatch.setattr(ReaderPool, "reader", lend_traced)
    return statements


@pytest.fixture
def snippets_asked(monkeypatch):
    """Return the list of chunks for which snippets were made."""
    asked, snippets = [], LexicalLeg.snippets

    def note_snippets(leg, chunk_ids, snippet_chars):
        asked.extend(chunk_ids)
        return snippets(leg, chunk_ids, snippet_chars)

    monkeypatch.setattr(LexicalLeg, "snippets", note_snippets)
    return asked


def test_query_without_a_word_looks_for_nothing(orchard, sent_statements, read):
    for mode in Mode:
        for text in ("", " \t\n", "''", "\0"):
            sent_statements.clear()
            assert ask(orchard, text, mode).hits == ()
            # One statement says what the answer has to name: the change that was reached and the live space.
            assert len([sql for sql, _ in sent_statements if sql.startswith("SELECT")]) <= 1
            assert not any("chunk" in sql for sql in [*(sql for sql, _ in sent_statements), *read])


def test_hybrid_search_asks_for_scope_vectors_candidates_and_hits(orchard, sent_statements, read):
    assert ask(orchard, "apple", Mode.HYBRID, k=5).hits
    assert len(sent_statements) == 4
    assert any(ChunkVector._meta.db_table in sql for sql, _ in sent_statements)
    candidates, hits = [sql for sql, _ in sent_statements if IDS_ASKED in sql]  # those of both legs at once
    assert '"text"' not in candidates and '"text"' in hits
    assert any("chunks_fts" in sql for sql in read)
    assert len([sql for sql in read if "FROM meta" in sql]) == 1


@pytest.mark.parametrize(("filters", "count"), [({"lang": ("en",)}, 4), ({"source": ("docs",)}, 5)])
def test_source_filter_looks_up_its_versions_before_the_vectors(orchard, sent_statements, filters, count):
    assert ask(orchard, "apple", Mode.HYBRID, **filters).hits
    assert len(sent_statements) == count


def test_read_back_is_by_index(orchard, sent_statements):
    ask(orchard, "apple", k=5)
    sql, params = next(each for each in sent_statements if IDS_ASKED in each[0])
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")  # forty rows are read faster without
        cursor.execute(f"EXPLAIN {sql}", params)
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "Seq Scan" not in plan


def test_hits_of_a_long_query_cost_one_statement_for_rarity_and_one_for_snippets_at_most(orchard, read):
    for text, snippets in (("apple", 0), ("'apple OR pear'", 1)):
        read.clear()
        found = ask(orchard, text, k=10).hits
        assert all(hit.highlights for hit in found) and len(found) == 10
        assert len([sql for sql in read if "snippet(" in sql]) == snippets
    read.clear()
    ask(orchard, " ".join(["apple", *(f"w{number}" for number in range(600))]))
    assert len([sql for sql in read if "length(p.entries)" in sql]) == 1


def test_refill_does_not_compile_the_query_again(orchard, monkeypatch):
    compiled = []

    def note_match(*given):
        compiled.append(given)
        return compile_match(*given)

    monkeypatch.setattr(lexical, "compile_match", note_match)
    leg = lexical_leg(orchard, resolve_scope(orchard, SearchFilters(), Reader()), "apple")
    assert [len(leg.search(limit)) for limit in (10, 20)] == [10, 20]
    assert len(compiled) == 1


def test_snippets_are_made_of_the_returned_hits_alone(orchard, snippets_asked, monkeypatch):
    def without_the_first(scope, chunk_ids):
        return read_hits(scope, chunk_ids[1:])

    for mode, read_all, count in ((Mode.LEXICAL, True, 3), (Mode.HYBRID, True, 3), (Mode.LEXICAL, False, 2)):
        snippets_asked.clear()
        with monkeypatch.context() as patched:
            if not read_all:  # a chunk is gone by then
                patched.setitem(HitBuilder.__init__.__kwdefaults__, "read", without_the_first)
            result = ask(orchard, "apple", mode, k=3)
        assert sorted(snippets_asked) == sorted(hit.chunk_id for hit in result.hits)
        assert len(snippets_asked) == count
