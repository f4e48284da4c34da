"""What one search asks of PostgreSQL and of the mirror, and what it leaves alone."""

from contextlib import contextmanager

import pytest
from django.db import connection

from kebab.people.reader import Reader
from search.engine import lexical_leg
from search.hits import HitBuilder
from search.mirror import filters, lexical
from search.mirror.connections import ReaderPool
from search.mirror.lexical import LexicalLeg, compile_match
from search.models import Chunk, ChunkVector
from search.readback import read_hits
from search.retrieval.filters import SearchFilters
from search.retrieval.types import Mode
from search.scope import resolve_scope
from tests.support.corpus import write, write_each
from tests.support.searching import ask, embed, sync

IDS_ASKED = f'"{Chunk._meta.db_table}"."chunk_id" = ANY'


@pytest.fixture
def orchard(workspace, settings):
    settings.KEBAB_PLAN_ONCE = False  # statements are known by their texts here
    write_each(workspace, [f"apple {'pear ' * n}" for n in range(40)])
    sync(workspace)
    embed(workspace)
    return workspace


@pytest.fixture
def sent():
    """The statements that PostgreSQL is sent, in order."""
    statements = []

    def note(execute, sql, params, many, context):
        statements.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield statements


@pytest.fixture
def read(monkeypatch):
    """The statements that mirrors are sent, in order."""
    statements = []
    lend = ReaderPool.reader

    def note(cursor, sql, values):
        statements.append(sql)
        return True

    @contextmanager
    def traced(pool, path):
        with lend(pool, path) as reader:
            reader.set_exec_trace(note)
            try:
                yield reader
            finally:
                reader.set_exec_trace(None)

    monkeypatch.setattr(ReaderPool, "reader", traced)
    return statements


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("text", ["", " \t\n", "''", "\0"])
def test_nothing_is_looked_for_without_a_word(orchard, sent, read, mode, text):
    assert ask(orchard, text, mode).hits == ()
    # One statement says what the answer has to name: the change that was reached and the live space.
    assert len([sql for sql in sent if sql.startswith("SELECT")]) <= 1
    assert not any("chunk" in sql for sql in [*sent, *read])


def test_what_was_traced_is_what_searches(orchard, sent, read):
    ask(orchard, "apple", Mode.HYBRID)

    assert any("chunks_fts" in sql for sql in read)
    assert any(ChunkVector._meta.db_table in sql for sql in sent)


def test_the_candidates_of_both_legs_are_read_back_in_one_query(orchard, sent):
    ask(orchard, "apple", Mode.HYBRID, k=5)

    candidates, hits = [sql for sql in sent if IDS_ASKED in sql]
    assert '"text"' not in candidates and '"text"' in hits


def test_the_read_back_is_by_index(orchard):
    sent = []

    def note(execute, sql, params, many, context):
        sent.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        ask(orchard, "apple", k=5)
    sql, params = next(each for each in sent if IDS_ASKED in each[0])
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")  # forty rows are read faster without
        cursor.execute(f"EXPLAIN {sql}", params)
        plan = "\n".join(line for (line,) in cursor.fetchall())

    assert "Seq Scan" not in plan


@pytest.mark.parametrize(("filters", "count"), [({}, 4), ({"lang": ("en",)}, 4), ({"source": ("up",)}, 5)])
def test_a_hybrid_search_asks_for_scope_vectors_candidates_and_hits(orchard, sent, filters, count):
    write(orchard, "other.md", "apple", source="up", lang="en")
    sync(orchard)
    embed(orchard)
    sent.clear()

    assert ask(orchard, "apple", Mode.HYBRID, **filters).hits
    # With sources or versions chosen, the vectors are those of versions that are looked up before.
    assert len(sent) == count


def test_a_mirror_is_asked_once_what_it_shows(orchard, read):
    ask(orchard, "apple", Mode.HYBRID)

    assert len([sql for sql in read if "FROM meta" in sql]) == 1


@pytest.mark.parametrize(("text", "count"), [("apple", 0), ("'apple OR pear'", 1)])
def test_the_snippets_of_all_hits_are_made_of_their_texts_or_in_one_statement(orchard, read, text, count):
    found = ask(orchard, text, k=10).hits

    assert all(hit.highlights for hit in found) and len(found) == 10
    assert len([sql for sql in read if "snippet(" in sql]) == count


def test_how_rare_the_words_of_a_page_are_is_one_statement(orchard, read):
    ask(orchard, " ".join(["apple", *(f"w{number}" for number in range(600))]))

    assert len([sql for sql in read if "length(p.entries)" in sql]) == 1


def test_a_mirror_knows_patterns_of_paths_only_where_a_query_has_some(orchard, monkeypatch):
    bound = []
    monkeypatch.setattr(filters, "_fits_any", lambda patterns: bound.append(patterns))
    ask(orchard, "apple")

    assert bound == []


def test_a_refill_reads_the_query_no_more(orchard, monkeypatch):
    compiled = []

    def noted(*given):
        compiled.append(given)
        return compile_match(*given)

    monkeypatch.setattr(lexical, "compile_match", noted)
    leg = lexical_leg(orchard, resolve_scope(orchard, SearchFilters(), Reader()), "apple")

    assert [len(leg.search(limit)) for limit in (10, 20)] == [10, 20]
    assert len(compiled) == 1


def test_no_snippet_is_made_of_what_is_gone(orchard, monkeypatch):
    asked = []
    snippets = LexicalLeg.snippets

    def noted(leg, chunk_ids, snippet_chars):
        asked.extend(chunk_ids)
        return snippets(leg, chunk_ids, snippet_chars)

    def without_the_first(scope, chunk_ids):
        return read_hits(scope, chunk_ids[1:])

    monkeypatch.setattr(LexicalLeg, "snippets", noted)
    monkeypatch.setitem(HitBuilder.__init__.__kwdefaults__, "read", without_the_first)
    result = ask(orchard, "apple", k=3)

    assert asked == [hit.chunk_id for hit in result.hits]
    assert len(asked) == 2


@pytest.mark.parametrize("mode", [Mode.LEXICAL, Mode.HYBRID])
def test_snippets_are_made_for_the_returned_hits_alone(orchard, monkeypatch, mode):
    asked = []
    snippets = LexicalLeg.snippets

    def noted(leg, chunk_ids, snippet_chars):
        asked.extend(chunk_ids)
        return snippets(leg, chunk_ids, snippet_chars)

    monkeypatch.setattr(LexicalLeg, "snippets", noted)
    result = ask(orchard, "apple", mode, k=3)

    assert sorted(asked) == sorted(hit.chunk_id for hit in result.hits)
    assert len(asked) == 3
