"""Replacement of chunks of an older chunker from the stored bytes of documents.

A periodic task finds the workspaces, and requests new chunks. Where golden queries judge the present ones, it
does so only once somebody has confirmed this chunker.
"""

from datetime import timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models import Exists, Max, OuterRef, Q, Subquery
from django.db.models.fields.json import KT
from django.db.models.functions import Now

from ingest.chunking.types import CHUNKER_VERSION
from ingest.jobs.queue.request import lock_source, request_rechunking
from ingest.models import OPEN_STATES, Job, JobKind, JobState
from kebab.health.checks import CheckResult, ok_result
from kebab.identity.caller import Access
from kebab.identity.models import Workspace
from kebab.people import audit
from kebab.tenancy.current_workspace import acting_everywhere, acting_in
from search.evaluation.gate import golden_topics
from search.models import Document, SourceVersion
from search.models.tenant import TenantQuerySet

#: `requested_by` of the periodic task's jobs.
REQUESTED_BY: Final = "upgrade"
#: The reason why a request that neither names settings nor confirms new chunks is refused.
UNCONFIRMED: Final = (
    "Name settings to test; or, without any, replace chunks of an older version with switch and force."
)
_REQUESTED: Final = "chunks.requested"
# While one of these is open in a workspace, the task requests nothing there.
_KINDS = (JobKind.SYNC_SOURCE, JobKind.RECHUNK)
# Workspaces for which one call requests something; the next call takes others.
_WORKSPACES_A_TURN = 20
# What failed or was cancelled is requested again after this.
_RETRY_AFTER = timedelta(days=1)


def older_documents() -> TenantQuerySet[Document]:
    """Return the documents of an earlier chunker, whatever their chunk size, of all workspaces."""
    earlier = "|".join(str(number) for number in range(1, int(CHUNKER_VERSION[1:])))
    return Document.objects.filter(chunker_version__regex=rf"^c({earlier})(-[0-9]+)?$")


def request_replacements() -> None:
    """Request new chunks for a few workspaces with older ones that have no open job for them."""
    with acting_everywhere():
        older = older_documents().filter(workspace=OuterRef("pk"))
        workspaces = list(Workspace.objects.filter(Exists(older)))
    left = _WORKSPACES_A_TURN
    for workspace in workspaces:
        with acting_in(workspace.pk), transaction.atomic():
            left -= _request_if_idle(workspace)
        if not left:
            return


def replace_older_chunks(access: Access) -> None:
    """Request new chunks for documents with older ones, which confirms the chunker for later ones, too."""
    with transaction.atomic():
        audit.record(access, _REQUESTED, access.workspace.slug, chunker=CHUNKER_VERSION)
        for version in _older_versions(access.workspace):
            request_rechunking(version, requested_by=access.actor)


def _request_if_idle(workspace: Workspace) -> bool:
    """Request new chunks, unless they need a confirmation; return whether anything was requested."""
    versions = list(_older_versions(workspace).exclude(Exists(_attempts(workspace))))
    if not versions:
        return False
    lock_source(versions[0].source)  # a second call at the same time then finds the jobs of the first
    if Job.objects.in_workspace(workspace).filter(kind__in=_KINDS, state__in=OPEN_STATES).exists():
        return False
    confirmed = audit.events_of(workspace, action=_REQUESTED).filter(detail__chunker=CHUNKER_VERSION)
    if golden_topics(workspace) and not confirmed.exists():
        return False
    for version in versions:
        request_rechunking(version, requested_by=REQUESTED_BY)
    return True


def _older_versions(workspace: Workspace) -> Any:
    """Return the versions of sources with older documents, the latest of which was indexed at `older_at`."""
    older = older_documents().in_workspace(workspace).filter(version=OuterRef("pk"))
    latest = older.order_by().values("version").annotate(at=Max("indexed_at")).values("at")
    versions = SourceVersion.objects.in_workspace(workspace).filter(source__workspace=workspace)
    with_older = versions.annotate(older_at=Subquery(latest)).filter(older_at__isnull=False)
    return with_older.select_related("source").order_by("pk")


def _attempts(workspace: Workspace) -> TenantQuerySet[Job]:
    """Return the jobs of a version that left its older documents as they are, or were requested today."""
    jobs = Job.objects.in_workspace(workspace).filter(kind=JobKind.RECHUNK, payload__chunker=CHUNKER_VERSION)
    of_version = jobs.annotate(tag=KT("payload__version")).filter(
        tag=OuterRef("tag"), source=OuterRef("source")
    )
    is_in_vain = Q(state=JobState.SUCCEEDED, created_at__gt=OuterRef("older_at"))
    return of_version.filter(is_in_vain | Q(created_at__gt=Now() - _RETRY_AFTER))


def check_chunks(repair: bool) -> CheckResult:
    """Count the documents of an older chunker; a periodic task has them chunked again, if it may."""
    count = older_documents().count()
    hint = "; where there are golden queries, kebab eval gate --force replaces them" if count else ""
    return ok_result("chunks", f"{count:,} documents have chunks of an older version{hint}")
