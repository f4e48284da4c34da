"""The `kebab doctor` check of change logs: numbered without gaps, up to their workspace's head.

A log with a gap is repaired by deleting all changes before it, as retention does after a week: a mirror that
is behind is then rebuilt, and no document is touched.
"""

import uuid
from collections.abc import Iterator

from django.db import connection, models, transaction
from django.db.models.functions import Greatest

from kebab.health.checks import CheckResult, failed_result, ok_result, repaired_result
from kebab.health.scrape import fetch_rows
from kebab.identity.models import Workspace
from kebab.tenancy.current_workspace import acting_in
from search.corpus.replace import append_changes
from search.models import Change

# One pass over the log of all workspaces, by its primary key.
_BROKEN = """
SELECT w.id, w.slug, w.head_seq, c.first, c.last, c.changes
FROM people_workspace w
LEFT JOIN (
    SELECT workspace_id, min(seq) AS first, max(seq) AS last, count(*) AS changes
    FROM search_change GROUP BY workspace_id
) c ON c.workspace_id = w.id
WHERE w.head_seq <> coalesce(c.last, 0) OR c.changes <> c.last - c.first + 1
ORDER BY w.slug
"""
_COUNTS = "SELECT count(*), count(DISTINCT workspace_id) FROM search_change"
# The latest number whose predecessor is missing.
_AFTER_LAST_HOLE = """
SELECT max(seq) FROM (
    SELECT seq, lag(seq) OVER (ORDER BY seq) AS before FROM search_change WHERE workspace_id = %s
) numbered WHERE seq <> before + 1
"""


def check_log(repair: bool) -> Iterator[CheckResult]:
    """Check that every workspace's changes are numbered without a gap up to its head."""
    broken = fetch_rows(_BROKEN)
    for workspace_id, slug, head_seq, first, last, count in broken:
        name = f"change log of {slug}"
        detail = f"at change {head_seq} it has {count or 0} changes, from {first or 0} to {last or 0}"
        if repair:
            _repair_log(workspace_id)
            yield repaired_result(
                name, f"{detail}; what was before the hole is forgotten, mirrors are built anew"
            )
        else:
            yield failed_result(name, detail, "Run: kebab doctor --repair")
    if not broken:
        ((changes, workspaces),) = fetch_rows(_COUNTS)
        yield ok_result("change log", f"{changes:,} changes of {workspaces:,} workspaces, without holes")


def _repair_log(workspace_id: uuid.UUID) -> None:
    with acting_in(workspace_id), transaction.atomic():
        workspaces = Workspace.objects.select_for_update().filter(pk=workspace_id)
        workspace = workspaces.get()
        changes = Change.objects.in_workspace(workspace_id)
        last = changes.aggregate(last=models.Max("seq"))["last"] or 0
        workspaces.update(head_seq=Greatest("head_seq", models.Value(last)))
        if last < workspace.head_seq:
            # A change of a document that never existed: followers find nothing to do, and a token.
            append_changes(workspace_id, [uuid.uuid4()], "delete")
        with connection.cursor() as cursor:
            cursor.execute(_AFTER_LAST_HOLE, [workspace_id])
            (after_hole,) = cursor.fetchone()
        if after_hole is not None:
            changes.filter(seq__lt=after_hole).delete()
