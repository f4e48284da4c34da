"""Statements of one workspace read one partition only."""

import re

import pytest
from django.db import connection

from kebab.identity.reader import OPERATOR
from kebab.tenancy.current_workspace import acting_in
from search.corpus.partitions import TABLES
from search.corpus.remove import delete_documents
from search.engine.suggest import suggest
from search.mirror.sync.checksum import postgres_checksum
from search.models import Document
from search.retrieval.types import Mode
from tests.integration.search.partitions.conftest import cut
from tests.support.actors import token_client
from tests.support.jobs import upload, work
from tests.support.search import ask, embed, sync

pytestmark = pytest.mark.slow

PARTS = 8
# Behind it comes what the plan calls it, which may look like another part.
_LEAF = re.compile(rf" on (?:{'|'.join(TABLES)})_(\d+)\b")


@pytest.fixture
def partitioned_workspace(filled_workspaces, settings):
    settings.KEBAB_PLAN_ONCE = False  # so that the statements are seen as they are
    cut(PARTS)
    return filled_workspaces[1]


def statements_of(action):
    """Return the distinct statements, with values, that `action` sends to partitioned tables."""
    found = []

    def note(execute, sql, params, many, context):
        text = sql if isinstance(sql, str) else sql.as_string(context["connection"].connection)
        *options, query = text.split(";")  # `SET LOCAL`, each with one value
        is_statement = query.strip().startswith(("SELECT", "WITH", "INSERT", "UPDATE", "DELETE"))
        if is_statement and any(table in query for table in TABLES):
            values = params if isinstance(params, dict) else (params or [])[len(options) :]
            found.append(context["cursor"].cursor.mogrify(query, values))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        action()
    return list(dict.fromkeys(found))


def parts_in(workspace, statement):
    """Return the partitions that the plan of a statement reads."""
    with acting_in(workspace.pk), connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (COSTS OFF) {statement}")
        return set(_LEAF.findall("\n".join(line for (line,) in cursor.fetchall())))


def job_of(workspace):
    assert work(upload(workspace, "late.md", b"# Late\n\na quince\n")).state == "succeeded"


def documents_of(workspace):
    client = token_client(workspace, "search")
    base = f"/api/v1/workspaces/{workspace.slug}/documents"
    some = Document.objects.filter(workspace=workspace.pk).values_list("doc_id", flat=True)[0].hex
    for tail in ("", f"/{some}", f"/{some}/chunks"):
        assert client.get(base + tail).status_code == 200


def deletion_in(workspace):
    some = Document.objects.filter(workspace=workspace.pk).values_list("doc_id", flat=True)[:1]
    delete_documents(workspace, list(some))


ACTIONS = {
    "search": lambda workspace: [ask(workspace, "apple number3", mode) for mode in Mode],
    "filters": lambda workspace: ask(workspace, "apple", Mode.HYBRID, source=("docs",), lang=("en",)),
    "suggest": lambda workspace: suggest(workspace, "app", reader=OPERATOR),
    "mirror": sync,
    "vectors": embed,
    "checksum": lambda workspace: postgres_checksum(workspace.pk),
    "job": job_of,
    "documents": documents_of,
    "deletion": deletion_in,
}


def test_statements_of_one_workspace_scan_one_partition(partitioned_workspace, blobs, subtests):
    for name, action in ACTIONS.items():
        statements = statements_of(lambda: action(partitioned_workspace))  # noqa: B023 - called at once
        with subtests.test(action=name):
            assert statements
            for statement in statements:
                assert len(parts_in(partitioned_workspace, statement)) <= 1, statement
