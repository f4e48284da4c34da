"""Replacement of chunks of an older chunker, behind the quality gate, from the stored bytes of documents.

A periodic task finds the workspaces. Without golden queries it requests new chunks at once, else a gate job,
which compares the stored chunks with new ones. That job requests new chunks, or records in the audit log that
they are held: until the chunker or the golden queries change, or someone forces it.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models import Exists, Max, OuterRef, Q, Subquery
from django.db.models.fields.json import KT
from django.db.models.functions import Now

from ingest.chunking.types import CHUNKER_VERSION
from ingest.jobs.queue.request import lock_source, request_gate, request_rechunking
from ingest.models import OPEN_STATES, Job, JobKind, JobState
from ingest.quality_gate.reindex_trial import COPY_PREFIX, trial_verdict
from kebab.people import audit
from kebab.people.access.caller import Access
from kebab.people.models import Workspace
from kebab.tenancy.current_workspace import acting_everywhere, acting_in
from search.evaluation.gate import ACTOR, Advance, GateVerdict, golden_topics
from search.evaluation.guard import build_refusal
from search.evaluation.record import topic_digests
from search.models import Document, SourceVersion
from search.models.tenant import TenantQuerySet

#: `requested_by` of the periodic task's jobs.
REQUESTED_BY: Final = "upgrade"
_REQUESTED: Final = "chunks.requested"
_HELD: Final = "chunks.held"
# While one of these is open in a workspace, the task requests nothing there.
_KINDS = (JobKind.SYNC_SOURCE, JobKind.RECHUNK, JobKind.GATE)
# Workspaces for which one call requests something; the next call takes others.
_WORKSPACES_A_TURN = 20
# What failed or was cancelled is requested again after this.
_RETRY_AFTER = timedelta(days=1)


def older_documents() -> TenantQuerySet[Document]:
    """Return the documents of an earlier chunker, whatever their chunk size, of all workspaces."""
    earlier = "|".join(str(number) for number in range(1, int(CHUNKER_VERSION[1:])))
    return Document.objects.filter(chunker_version__regex=rf"^c({earlier})(-[0-9]+)?$")


def request_replacements() -> None:
    """Request what is needed to replace older chunks, for a few workspaces that have no open job for it."""
    with acting_everywhere():
        older = older_documents().filter(workspace=OuterRef("pk"))
        workspaces = list(Workspace.objects.exclude(slug__startswith=COPY_PREFIX).filter(Exists(older)))
    left = _WORKSPACES_A_TURN
    for workspace in workspaces:
        with acting_in(workspace.pk), transaction.atomic():
            left -= _request_if_idle(workspace)
        if not left:
            return


def replace_older_chunks(access: Access, *, is_forced: bool, advance: Advance) -> GateVerdict:
    """Request new chunks for documents with older ones if golden queries pass, or by force.

    Raises GoldenQueriesWorse, SearchError, SandboxUnavailable.
    """
    workspace = access.workspace
    topics = topic_digests(golden_topics(workspace))
    verdict = trial_verdict(workspace, workspace, rechunks=True, advance=advance)
    is_held = not verdict.passes and not is_forced
    facts: dict[str, Any] = {"chunker": CHUNKER_VERSION}
    if verdict.figures:
        facts["quality_gate"] = {**verdict.figures, "is_forced": not verdict.passes and is_forced}
    if is_held:
        audit.record(access, _HELD, workspace.slug, topics=topics, **facts)
        raise build_refusal(access, verdict)
    with transaction.atomic():
        audit.record(access, _REQUESTED, workspace.slug, **facts)
        for version in _older_versions(workspace):
            request_rechunking(version, requested_by=access.actor)
    return verdict


def _request_if_idle(workspace: Workspace) -> bool:
    """Request new chunks or the gate's verdict on them; return whether anything was requested."""
    versions = list(_older_versions(workspace).exclude(Exists(_attempts(workspace))))
    if not versions:
        return False
    lock_source(versions[0].source)  # a second call at the same time then finds the jobs of the first
    if Job.objects.in_workspace(workspace).filter(kind__in=_KINDS, state__in=OPEN_STATES).exists():
        return False
    topics = golden_topics(workspace)
    accepted = audit.events_of(workspace, action=_REQUESTED).filter(detail__chunker=CHUNKER_VERSION)
    if topics and not accepted.exists():
        return _request_gate(workspace, topic_digests(topics))
    for version in versions:
        request_rechunking(version, requested_by=REQUESTED_BY)
    return True


def _request_gate(workspace: Workspace, topics: Mapping[str, str]) -> bool:
    """Request a gate job unless one with these golden queries has refused the chunker, or was tried today."""
    subject = {"chunker": CHUNKER_VERSION, "topics": topics}
    held = audit.events_of(workspace, action=_HELD).filter(detail__contains=subject)
    tried = Job.objects.in_workspace(workspace).filter(kind=JobKind.GATE, payload__contains=subject)
    if held.exists() or tried.filter(created_at__gt=Now() - _RETRY_AFTER).exists():
        return False
    payload = {"settings": {}, "switch": True, "force": False, "creator": ACTOR, **subject}
    request_gate(workspace.pk, payload, requested_by=ACTOR)
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
