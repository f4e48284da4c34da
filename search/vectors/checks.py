"""The `kebab doctor` check of vectors: one for each chunk, of its current text."""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db import connection, models, transaction

from kebab.health.checks import (
    CheckResult,
    failed_result,
    ok_result,
    repaired_result,
    warning_result,
)
from kebab.health.scrape import fetch_rows
from kebab.identity.models import Workspace
from kebab.tenancy.current_workspace import acting_in
from search.embedders.configured import workspace_embedder_name
from search.embedders.spec import NONE
from search.models import EmbeddingSpace, SpaceState

# One pass over the chunks of all workspaces, and one over their vectors. A vector is right if its chunk
# exists with the same text and version, and it has the dimension of its space.
_SPACES = """
WITH chunks AS (
    SELECT workspace_id, count(*) AS total FROM search_chunk GROUP BY workspace_id
), vectors AS (
    SELECT v.workspace_id, v.space_id, count(*) AS total, count(*) FILTER (
        WHERE c.embed_hash = v.embed_hash AND d.version_id = v.version_id AND vector_dims(v.embedding) = s.dim
    ) AS rights
    FROM search_chunkvector v
    JOIN search_embeddingspace s ON s.workspace_id = v.workspace_id AND s.id = v.space_id
    LEFT JOIN search_chunk c ON c.workspace_id = v.workspace_id AND c.chunk_id = v.chunk_id
    LEFT JOIN search_document d ON d.workspace_id = c.workspace_id AND d.id = c.document_id
    GROUP BY v.workspace_id, v.space_id
)
SELECT w.slug, s.workspace_id, s.id, s.model || '@' || s.revision, s.state, s.live_until,
    coalesce(s.state = 'retired' AND s.retire_at <= now(), false),
    coalesce(chunks.total, 0), coalesce(vectors.total, 0), coalesce(vectors.rights, 0)
FROM search_embeddingspace s
JOIN people_workspace w ON w.id = s.workspace_id
LEFT JOIN chunks ON chunks.workspace_id = s.workspace_id
LEFT JOIN vectors ON vectors.workspace_id = s.workspace_id AND vectors.space_id = s.id
"""
_DELETE_WRONG = """
DELETE FROM search_chunkvector v WHERE v.workspace_id = %(workspace)s AND v.space_id = %(space)s
AND NOT EXISTS (
    SELECT 1 FROM search_chunk c
    JOIN search_document d ON d.workspace_id = c.workspace_id AND d.id = c.document_id
    JOIN search_embeddingspace s ON s.workspace_id = c.workspace_id AND s.id = %(space)s
    WHERE c.workspace_id = v.workspace_id AND c.chunk_id = v.chunk_id
        AND c.embed_hash = v.embed_hash AND d.version_id = v.version_id AND vector_dims(v.embedding) = s.dim
)
"""
_WITHOUT_SPACE = """
SELECT w.id FROM people_workspace w
WHERE NOT EXISTS (SELECT 1 FROM search_embeddingspace s WHERE s.workspace_id = w.id)
    AND EXISTS (SELECT 1 FROM search_chunk c WHERE c.workspace_id = w.id)
"""
_ORDER = [SpaceState.LIVE.value, SpaceState.BUILDING.value, SpaceState.RETIRED.value]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceCount:
    """Actual and expected numbers of vectors in a space."""

    slug: str
    workspace_id: uuid.UUID
    space_id: int
    space: str
    state: str
    live_until: datetime | None
    #: Whether its retention has expired, so that it is about to be deleted.
    is_expired: bool
    chunks: int
    vectors: int
    #: Vectors of existing chunks and their current text.
    right: int

    @property
    def name(self) -> str:
        """Return the name of its check."""
        suffix = "" if self.state == SpaceState.LIVE else f" ({self.state} space {self.space_id})"
        return f"vectors of {self.slug}{suffix}"

    @property
    def sort_key(self) -> tuple[object, ...]:
        """Return the sort key: workspace, live space, space being built, retired spaces, latest first."""
        left = -self.live_until.timestamp() if self.live_until else 0.0
        return self.slug, _ORDER.index(self.state), left, self.space_id


def check_coverage(
    repair: bool, request: Callable[[uuid.UUID], object] | None = None
) -> Iterator[CheckResult]:
    """Check that each chunk has a vector of its text in each filled space, and that no vector is of another.

    `request` queues the embedding of a workspace's missing vectors.
    """
    for count in space_counts():
        if count.is_expired:
            detail = f"the time of {count.space} is over, and it has not been deleted yet"
            yield warning_result(count.name, detail, "It is deleted while an embedding worker runs.")
        elif count.vectors > count.right:
            yield _report_wrong(count, repair=repair, request=request)
        elif count.chunks > count.right:
            yield _report_incomplete(count, repair=repair, request=request)
        else:
            yield ok_result(count.name, f"complete in {count.space}")
    yield from _report_without_space(repair, request)


def _report_without_space(
    repair: bool, request: Callable[[uuid.UUID], object] | None
) -> Iterator[CheckResult]:
    """Report workspaces whose setting asks for vectors and that have no space yet."""
    workspaces = Workspace.objects.filter(pk__in=[pk for (pk,) in fetch_rows(_WITHOUT_SPACE)])
    missing = [workspace for workspace in workspaces if workspace_embedder_name(workspace) != NONE]
    if not missing:
        return
    detail = f"{len(missing)} workspaces have none yet ({', '.join(each.slug for each in missing[:3])})"
    if not repair or request is None:
        yield warning_result("vectors", detail, "They follow while an embedding worker runs.")
        return
    for workspace in missing:
        with acting_in(workspace.pk):
            request(workspace.pk)
    yield repaired_result("vectors", f"{detail}, asked for again")


def space_counts() -> list[SpaceCount]:
    """Return the counts of all spaces of all workspaces."""
    fields = SpaceCount.__dataclass_fields__
    return sorted(
        (SpaceCount(**dict(zip(fields, row, strict=True))) for row in fetch_rows(_SPACES)),
        key=lambda c: c.sort_key,
    )


def _report_wrong(
    count: SpaceCount, *, repair: bool, request: Callable[[uuid.UUID], object] | None
) -> CheckResult:
    detail = f"{count.vectors - count.right} in {count.space} are of another text than their chunks have"
    if not repair:
        return failed_result(count.name, detail, "Run: kebab doctor --repair")
    with acting_in(count.workspace_id), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute(_DELETE_WRONG, {"workspace": count.workspace_id, "space": count.space_id})
        spaces = EmbeddingSpace.objects.in_workspace(count.workspace_id).filter(pk=count.space_id)
        spaces.update(epoch=models.F("epoch") + 1)
    return repaired_result(count.name, f"{detail}; dropped{_request_vectors(count, request)}")


def _report_incomplete(
    count: SpaceCount, *, repair: bool, request: Callable[[uuid.UUID], object] | None
) -> CheckResult:
    detail = f"{count.chunks - count.right} chunks wait for their vector in {count.space}"
    if repair and request is not None:
        return repaired_result(count.name, f"{detail}{_request_vectors(count, request)}")
    return warning_result(count.name, detail, "They follow while an embedding worker runs.")


def _request_vectors(count: SpaceCount, request: Callable[[uuid.UUID], object] | None) -> str:
    if request is None:
        return ""
    with acting_in(count.workspace_id):
        request(count.workspace_id)
    return ", asked for again"
