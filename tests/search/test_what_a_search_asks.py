"""What one search asks of PostgreSQL and of the mirror, and what it leaves alone."""

from contextlib import contextmanager

import pytest
from django.db import connection

from search.mirror.connections import ReaderPool
from search.mirror.lexical import LexicalLeg
from search.models import Chunk, ChunkVector
from search.retrieval.types import Mode
from tests.corpus.making import write_each
from tests.search.asking import ask, embed, sync

IDS_ASKED = f'"{Chunk._meta.db_table}"."chunk_id" = ANY'


@pytest.fixture
def orchard(workspace):
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
