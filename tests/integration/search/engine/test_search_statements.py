"""The statements that one search sends to PostgreSQL and to the mirror."""

from contextlib import contextmanager

import pytest
from django.db import connection

from search.engine.readback import read_hits
from search.mirror.connections import ReaderPool
from search.models import Chunk, ChunkVector
from search.retrieval.text.snippet import SnippetBuilder
from search.retrieval.types import Fusion, Mode
from search.vectors.quantised_index import code_cache
from search.vectors.spaces import live_space
from tests.support.corpus import write, write_each
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
    """Return a list that collects the texts snippets are made of."""
    asked, build = [], SnippetBuilder.build

    def note_text(builder, text, *args):
        asked.append(text)
        return build(builder, text, *args)

    monkeypatch.setattr(SnippetBuilder, "build", note_text)
    return asked


@pytest.fixture
def codes(orchard, settings):
    """Let this process scan the vectors by their codes."""
    settings.KEBAB_CODES_FROM = 1
    space = live_space(orchard)
    code_cache().build(orchard.pk, space)
    ask(orchard, "apple", Mode.VECTOR)  # reads what was written since
    yield
    code_cache().delete(orchard.pk, space)


def test_query_without_words_sends_no_search_statement(orchard, sent_statements, read):
    for mode in Mode:
        for text in ("", " \t\n", "''", "\0"):
            sent_statements.clear()
            assert ask(orchard, text, mode).hits == ()
            # One statement says what the answer has to name: the change that was reached and the live space.
            assert len([sql for sql, _ in sent_statements if sql.startswith("SELECT")]) <= 1
            assert not any("chunk" in sql for sql in [*(sql for sql, _ in sent_statements), *read])


@pytest.mark.parametrize("filters", [{}, {"lang": ("en",)}, {"source": ("docs",)}])
def test_hybrid_search_by_codes_asks_for_scope_and_hits(orchard, codes, sent_statements, read, filters):
    read.clear()
    sent_statements.clear()
    assert ask(orchard, "apple", Mode.HYBRID, k=5, **filters).hits
    scope, hits = (sql for sql, _ in sent_statements)
    assert IDS_ASKED not in scope
    assert IDS_ASKED in hits and '"text"' in hits
    assert any("chunks_fts" in sql for sql in read)
    assert len([sql for sql in read if "FROM meta" in sql]) == 1
    read.clear()
    assert ask(orchard, "apple", Mode.VECTOR, k=5, **filters).hits
    # All that a search reads of the mirror, it reads from one view.
    assert len([sql for sql in read if "FROM meta" in sql]) == 1


def test_hybrid_search_without_codes_also_asks_for_vectors(orchard, sent_statements):
    for fusion, count in ((Fusion.RRF, 1), (Fusion.CONVEX, 2)):
        sent_statements.clear()
        assert ask(orchard, "apple", Mode.HYBRID, k=5, fusion=fusion).hits
        scope, *vectors, hits = (sql for sql, _ in sent_statements)
        assert len(vectors) == count  # of the nearest; of those that are compared with each other
        assert all(ChunkVector._meta.db_table in sql for sql in vectors)
        assert IDS_ASKED in hits and IDS_ASKED not in scope


@pytest.mark.parametrize(("filters", "count"), [({"lang": ("en",)}, 4), ({"source": ("docs",)}, 5)])
def test_source_filter_looks_up_its_versions_before_the_vectors(orchard, sent_statements, filters, count):
    assert ask(orchard, "apple", Mode.HYBRID, **filters).hits
    assert len(sent_statements) == count


def test_candidates_of_a_lagging_mirror_are_read_by_one_statement(orchard, sent_statements):
    write(orchard, "new.md", "plum")
    sent_statements.clear()
    assert ask(orchard, "apple", Mode.HYBRID, k=5, fusion=Fusion.RRF).hits
    candidates, hits = [sql for sql, _ in sent_statements if IDS_ASKED in sql]  # those of both legs at once
    assert '"text"' not in candidates and '"text"' in hits
    assert len(sent_statements) == 4


def test_candidates_and_hits_are_read_by_index(orchard, sent_statements):
    write(orchard, "new.md", "plum")
    ask(orchard, "apple", k=5)
    statements = [each for each in sent_statements if IDS_ASKED in each[0]][-2:]
    for sql, params in statements:
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")  # forty rows are read faster without
            cursor.execute(f"EXPLAIN {sql}", params)
            plan = "\n".join(line for (line,) in cursor.fetchall())
        assert "Seq Scan" not in plan
    assert ['"text"' in sql for sql, _ in statements] == [False, True]


def test_long_query_costs_one_statement_for_rarity_and_none_for_snippets(orchard, read):
    for text in ("apple", "'apple OR pear'"):
        read.clear()
        found = ask(orchard, text, k=10).hits
        assert all(hit.highlights for hit in found) and len(found) == 10
        assert not any("snippet(" in sql for sql in read)
    read.clear()
    ask(orchard, " ".join(["apple", *(f"w{number}" for number in range(600))]), typos=False)
    assert len([sql for sql in read if "length(p.entries)" in sql]) == 1


def test_snippets_are_made_of_the_returned_hits_alone(orchard, snippets_asked, monkeypatch):
    for mode in (Mode.LEXICAL, Mode.HYBRID):
        snippets_asked.clear()
        result = ask(orchard, "apple", mode, k=3)
        assert len(snippets_asked) == len(result.hits) == 3
    monkeypatch.setattr(
        "search.engine.hits.read_hits", lambda scope, chunk_ids: read_hits(scope, chunk_ids[1:])
    )
    snippets_asked.clear()
    result = ask(orchard, "apple", k=3)  # a chunk is gone by then
    assert len(set(snippets_asked)) == len(result.hits) == 2  # the search ran twice
