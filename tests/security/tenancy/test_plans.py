"""Plans of a search under row-level security use indexes as without, and no function call per row.

Tables of tests are small, so sequential scans are disabled: the question is where an index can serve. Which
of several serves may differ, as they cost about the same. Statistics are fresh, without the rows that other
tests have left.
"""

import re
import uuid

import pytest
from django.db import connection

from kebab.identity.reader import OPERATOR
from kebab.tenancy.current_workspace import acting_in
from kebab.tenancy.roles import owner_connection
from search.engine.suggest import suggest
from search.models import Chunk, ChunkVector, Document
from search.retrieval.types import Mode
from search.vectors.index import drop_index, ensure_index, index_name
from tests.support.corpus import make_workspace, write
from tests.support.search import ask, embed, sync

pytestmark = pytest.mark.usefixtures("mirrors")

_BY_INDEX = re.compile(r"(?:Index (?:Only )?Scan (?:Backward )?using \S+|Bitmap Heap Scan) on (\S+)")


@pytest.fixture
def indexed_workspace(transactional_db, settings):
    """Create a searchable workspace beside another, its vectors under an HNSW index."""
    settings.KEBAB_EXACT_SCAN_LIMIT = 100
    settings.KEBAB_PLAN_ONCE = False  # so that queries are not prepared
    workspace, other = make_workspace(), make_workspace()
    for each in (workspace, other):
        for number in range(4):
            write(each, f"{number}.md", *(f"apple number{n} of {number}" for n in range(250)))
    space = embed(workspace)
    assert ensure_index(space)
    sync(workspace)
    refresh_statistics()
    yield workspace, space
    drop_index(space)


def refresh_statistics():
    with owner_connection() as owner:
        owner.execute(
            "VACUUM (ANALYZE) search_source, search_sourceversion, search_document, search_chunk,"
            " search_chunkvector"
        )


def statements_of(action):
    """Return the distinct statements with values that `action` sends to tenant tables."""
    found = []

    def record(execute, sql, params, many, context):
        *options, query = sql.split(";")  # `SET LOCAL`, each with one value
        if query.startswith(("SELECT", "WITH")) and "search_" in query:
            found.append(context["cursor"].cursor.mogrify(query, (params or [])[len(options) :]))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(record):
        action()
    return list(dict.fromkeys(found))


def explain(execute, statement):
    execute("SET enable_seqscan = off")
    execute("SET hnsw.iterative_scan = strict_order")
    return "\n".join(line for (line,) in execute(f"EXPLAIN (COSTS OFF) {statement}").fetchall())


def plan_of_workspace(workspace, statement):
    with acting_in(workspace.pk), connection.cursor() as cursor:

        def execute(sql):
            cursor.execute(sql)
            return cursor

        try:
            return explain(execute, statement)
        finally:
            cursor.execute("RESET enable_seqscan; RESET hnsw.iterative_scan")


def plan_of_the_owner(statement):
    with owner_connection() as owner:
        return explain(owner.execute, statement)


def read_by_index(plan):
    return set(_BY_INDEX.findall(plan))


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("filters", [{}, {"source": ("docs",), "lang": ("en",)}], ids=["all", "filtered"])
def test_search_reads_the_same_tables_by_index(indexed_workspace, mode, filters):
    workspace, _ = indexed_workspace
    statements = statements_of(lambda: ask(workspace, "apple number7", mode, **filters))
    assert statements
    for statement in statements:
        walled, bare = plan_of_workspace(workspace, statement), plan_of_the_owner(statement)
        assert read_by_index(walled) == read_by_index(bare), f"{statement}\n{walled}\n\n{bare}"
        assert ("Seq Scan" in walled) <= ("Seq Scan" in bare), f"{statement}\n{walled}"


def test_partial_vector_index_is_used(indexed_workspace):
    workspace, space = indexed_workspace
    statements = statements_of(lambda: ask(workspace, "apple number7", Mode.VECTOR))
    plans = [plan_of_workspace(workspace, statement) for statement in statements]
    assert any(f"Index Scan using {index_name(space)}" in plan for plan in plans)


def add_titles(workspace, count):
    like = Document.objects.in_workspace(workspace).first()
    with acting_in(workspace.pk):
        Document.objects.bulk_create(
            Document(
                workspace=workspace,
                source=like.source,
                version=like.version,
                doc_id=uuid.uuid4(),
                path=f"more/{number}.md",
                title=f"Title {number}",
                mime=like.mime,
                size_bytes=1,
                indexed_at=like.indexed_at,
            )
            for number in range(count)
        )


def test_title_prefix_is_an_index_range(indexed_workspace):
    workspace, _ = indexed_workspace
    add_titles(workspace, 500)  # of a few documents any index finds one at the same cost
    refresh_statistics()
    statements = statements_of(lambda: suggest(workspace, "app", reader=OPERATOR))
    plans = [plan_of_workspace(workspace, statement) for statement in statements]
    assert any(
        re.search(r"document_by_folded_title.*\n\s+Index Cond: .*title_folded >=", plan) for plan in plans
    )


@pytest.mark.parametrize("model", [Document, Chunk, ChunkVector])
def test_no_row_costs_a_function_call(indexed_workspace, model):
    workspace, _ = indexed_workspace
    plan = plan_of_workspace(workspace, str(model.objects.all().query))
    rows = [line for line in plan.splitlines() if "Filter" in line or "Cond" in line]
    assert rows
    assert not [line for line in rows if "current_setting" in line or "nullif" in line.lower()]
    assert "InitPlan" in plan
