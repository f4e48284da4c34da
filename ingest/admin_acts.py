"""What operators ask of jobs, quarantined files, sources and embedding spaces in the Django admin."""

from functools import partial

from django.http import HttpRequest

from ingest.jobs.quarantine import delete_quarantined, try_again
from ingest.jobs.request import cancel, request_source_deletion, request_sync, retry
from ingest.models import Job, Unreadable
from ingest.reembedding import begin_reembedding, end_space, go_back, switch_spaces
from ingest.sources import refuse_upload_source
from ingest.versions import delete_version
from kebab.operating.acts import Act, acting, offer
from kebab.people import audit
from kebab.people.models import Workspace
from search.errors import SpaceConflict
from search.models import EmbeddingSpace, Source, SourceKind, SourceVersion, SpaceState


def _asker(request: HttpRequest) -> str:
    return str(request.user.email)  # type: ignore[union-attr]


def _cancel(request: HttpRequest, job: Job) -> str:
    ended = cancel(job)
    audit.record(acting(request, job.workspace), "job.cancelled", str(job.pk), kind=job.kind)
    return f"Job {job.pk} is cancelled." if ended.is_finished else f"Job {job.pk} ends within seconds."


def _retry(request: HttpRequest, job: Job) -> str:
    again = retry(job, requested_by=_asker(request))
    audit.record(acting(request, job.workspace), "job.retried", str(job.pk), job=str(again.pk))
    return f"Job {again.pk} does again what failed in {job.pk}."


def _read_again(request: HttpRequest, entry: Unreadable) -> str:
    job = try_again(entry, requested_by=_asker(request))
    audit.record(acting(request, entry.workspace), "quarantine.retried", str(entry.pk), path=entry.path)
    return f"Job {job.pk} reads {entry.path} again."


def _forget(request: HttpRequest, entry: Unreadable) -> str:
    entry_id, source = entry.pk, entry.version.source
    delete_quarantined(entry)
    audit.record(
        acting(request, entry.workspace),
        "quarantine.deleted",
        str(entry_id),
        source=source.key,
        path=entry.path,
    )
    return f"{entry.path} of {source.key} is forgotten."


def _sync(request: HttpRequest, source: Source) -> str:
    refuse_upload_source(source)
    job = request_sync(source, requested_by=_asker(request))
    audit.record(acting(request, source.workspace), "source.sync_asked", source.key, job=str(job.pk))
    return f"Job {job.pk} reads {source.key} again."


def _delete_source(request: HttpRequest, source: Source) -> str:
    job = request_source_deletion(source, requested_by=_asker(request))
    audit.record(acting(request, source.workspace), "source.deleted", source.key, job=str(job.pk))
    return f"Job {job.pk} deletes {source.key} with all its documents."


def _delete_version(request: HttpRequest, version: SourceVersion) -> str:
    named = f"{version.source.key}@{version.tag}"
    job = delete_version(version.source, version.tag, requested_by=_asker(request))
    audit.record(acting(request, version.workspace), "version.deleted", named, job=str(job.pk))
    return f"Job {job.pk} deletes {named} with its documents."


def _reembed(request: HttpRequest, workspace: Workspace) -> str:
    space = begin_reembedding(workspace, requested_by=_asker(request))
    _record_space(request, workspace, "building", space)
    return f"Vectors of {space} are made for {workspace.slug}; it goes live by itself once it is complete."


def _switch(request: HttpRequest, space: EmbeddingSpace) -> str:
    _check_state(space, SpaceState.BUILDING)
    live = switch_spaces(space.workspace)
    _record_space(request, space.workspace, "switched", live)
    return f"{live} is live in {space.workspace}."


def _roll_back(request: HttpRequest, space: EmbeddingSpace) -> str:
    _check_state(space, SpaceState.LIVE)
    live = go_back(space.workspace)
    _record_space(request, space.workspace, "rolled_back", live)
    return f"{live} is live in {space.workspace} again."


def _retire(request: HttpRequest, space: EmbeddingSpace) -> str:
    _record_space(request, space.workspace, "retired", end_space(space.workspace, space.pk))
    return f"{space} is deleted from {space.workspace} with its vectors, in a job."


def _check_state(space: EmbeddingSpace, state: SpaceState) -> None:
    if space.state != state:
        raise SpaceConflict(f"{space} is {space.state}, not {state}; choose the one that is.")


def _record_space(request: HttpRequest, workspace: Workspace, act: str, space: EmbeddingSpace) -> None:
    audit.record(acting(request, workspace), f"embedding.{act}", str(space), space=space.pk)


_deletion = partial(Act, icon="delete", permission="delete", is_destructive=True)

offer(
    Job,
    Act(
        name="cancel",
        label="Cancel",
        icon="cancel",
        question="End this work? What it has written stays.",
        perform=_cancel,
        is_destructive=True,
        fits=lambda job: not job.is_finished,
    ),
    Act(
        name="retry",
        label="Retry",
        icon="replay",
        question="Do again what failed, as a new job?",
        perform=_retry,
        fits=lambda job: job.is_finished,
    ),
)
offer(
    Unreadable,
    Act(
        name="retry",
        label="Read again",
        icon="replay",
        question="Read this once more, whatever is remembered of it?",
        perform=_read_again,
    ),
    _deletion(
        name="forget",
        label="Forget",
        question="Forget this upload with its bytes? A document at its path stays.",
        perform=_forget,
    ),
)
offer(
    Source,
    Act(
        name="sync",
        label="Sync",
        icon="sync",
        question="Read this again where it comes from?",
        perform=_sync,
        fits=lambda source: source.kind != SourceKind.UPLOAD,
    ),
    _deletion(
        name="delete",
        label="Delete with documents",
        question="Delete this with all its documents, for good? It is done in a job.",
        perform=_delete_source,
    ),
)
offer(
    SourceVersion,
    _deletion(
        name="delete",
        label="Delete with documents",
        question="Delete this version with its documents, for good? It is done in a job.",
        perform=_delete_version,
        fits=lambda version: version.tag != "",
    ),
)
offer(
    Workspace,
    Act(
        name="reembed",
        label="Re-embed",
        icon="model_training",
        question="Build the vectors of the workspace's embedder beside the live ones? Searches go on.",
        perform=_reembed,
    ),
)
offer(
    EmbeddingSpace,
    Act(
        name="switch",
        label="Let it go live",
        icon="swap_horiz",
        question="Make the space that was built the live one, now?",
        perform=_switch,
        fits=lambda space: space.state == SpaceState.BUILDING,
    ),
    Act(
        name="rollback",
        label="Go back to the one before",
        icon="undo",
        question="Make the space that was live before the live one again?",
        perform=_roll_back,
        fits=lambda space: space.state == SpaceState.LIVE,
    ),
    _deletion(
        name="retire",
        label="Delete with its vectors",
        question="Delete this space with its vectors? It is done in a job.",
        perform=_retire,
        fits=lambda space: space.state != SpaceState.LIVE,
    ),
)
