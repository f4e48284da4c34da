"""The numbered change log, which makes committed writes visible to every mirror.

A writer calls `append_changes` **last** in its transaction: the workspace's row lock orders the numbers by
commit, so a reader can't skip one that commits late, and is held only from here to the commit.
"""

import secrets
import uuid
from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from django.db import connection, models
from django.utils import timezone

from kebab.identity.models import Workspace
from search.models import Change

#: The Postgres notification channel for changed workspaces. A hint only: readers poll as well.
CHANNEL = "kebab_change"
#: Retention of changes; a mirror that is further behind is rebuilt.
KEEP = timedelta(days=7)

# One statement, so that the row lock is held for one round trip before the commit.
_APPEND = """
WITH head AS (
    UPDATE people_workspace SET head_seq = head_seq + %(count)s WHERE id = %(workspace)s RETURNING head_seq
), logged AS (
    INSERT INTO search_change (workspace_id, seq, doc_id, op, token, at)
    SELECT %(workspace)s, head.head_seq - %(count)s + d.nth, d.doc_id, %(op)s, %(token)s, now()
    FROM head, unnest(%(doc_ids)s::uuid[]) WITH ORDINALITY AS d(doc_id, nth)
)
SELECT head_seq, pg_notify(%(channel)s, %(workspace)s::text) FROM head
"""


def append_changes(
    workspace_id: uuid.UUID, doc_ids: Sequence[uuid.UUID], op: Literal["upsert", "delete"]
) -> int:
    """Append a change of each of `doc_ids`, in order; return the last number. Call it last in a transaction.

    Raises LookupError when the workspace is gone.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            _APPEND,
            {
                "workspace": workspace_id,
                "count": len(doc_ids),
                "doc_ids": list(doc_ids),
                "op": op,
                "token": secrets.randbits(63),
                "channel": CHANNEL,
            },
        )
        row = cursor.fetchone()
    if row is None:
        raise LookupError(f"Workspace {workspace_id} does not exist any more.")
    return int(row[0])


def prune_changes() -> int:
    """Delete changes older than seven days, but never a workspace's latest; return the number deleted."""
    latest = Workspace.objects.filter(pk=models.OuterRef("workspace_id")).values("head_seq")
    old = Change.objects.filter(at__lt=timezone.now() - KEEP, seq__lt=models.Subquery(latest))
    deleted, _ = old.delete()
    return deleted
