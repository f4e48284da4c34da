"""What operators ask of jobs, quarantined files, sources and embedding spaces in the Django admin."""

from functools import partial

from django.http import HttpRequest

from ingest.models import Job, Unreadable
from ingest.services.embedding import build_space, retire_space, return_to_former, switch_to_built
from ingest.services.jobs import cancel_job, retry_job
from ingest.services.quarantine import forget_quarantined, retry_quarantined
from ingest.services.sources import delete_source, delete_version, sync_source
from kebab.admin.actions import Act, acting, offer
from kebab.people.models import Workspace
from search.errors import SpaceConflict
from search.models import EmbeddingSpace, Source, SourceKind, SourceVersion, SpaceState


def _cancel(request: HttpRequest, job: Job) -> str:
    asked = cancel_job(acting(request, job.workspace), job)
    return f"Job {job.pk} is cancelled." if asked.is_finished else f"Job {job.pk} ends within seconds."


def _retry(request: HttpRequest, job: Job) -> str:
    again = retry_job(acting(request, job.workspace), job)
    return f"Job {again.pk} does again what failed in {job.pk}."


def _read_again(request: HttpRequest, entry: Unreadable) -> str:
    job = retry_quarantined(acting(request, entry.workspace), entry)
    return f"Job {job.pk} reads {entry.path} again."


def _forget(request: HttpRequest, entry: Unreadable) -> str:
    forget_quarantined(acting(request, entry.workspace), entry)
    return f"{entry.path} of {entry.version.source.key} is forgotten."


def _sync(request: HttpRequest, source: Source) -> str:
    job = sync_source(acting(request, source.workspace), source)
    return f"Job {job.pk} reads {source.key} again."


def _delete_source(request: HttpRequest, source: Source) -> str:
    job = delete_source(acting(request, source.workspace), source)
    return f"Job {job.pk} deletes {source.key} with all its documents."


def _delete_version(request: HttpRequest, version: SourceVersion) -> str:
    job = delete_version(acting(request, version.workspace), version.source, version.tag)
    return f"Job {job.pk} deletes {version.source.key}@{version.tag} with its documents."


def _reembed(request: HttpRequest, workspace: Workspace) -> str:
    space = build_space(acting(request, workspace))
    return f"Vectors of {space} are made for {workspace.slug}; it goes live by itself once it is complete."


def _switch(request: HttpRequest, space: EmbeddingSpace) -> str:
    _check_state(space, SpaceState.BUILDING)
    live = switch_to_built(acting(request, space.workspace))
    return f"{live} is live in {space.workspace}."


def _roll_back(request: HttpRequest, space: EmbeddingSpace) -> str:
    _check_state(space, SpaceState.LIVE)
    live = return_to_former(acting(request, space.workspace))
    return f"{live} is live in {space.workspace} again."


def _retire(request: HttpRequest, space: EmbeddingSpace) -> str:
    retire_space(acting(request, space.workspace), space.pk)
    return f"{space} is deleted from {space.workspace} with its vectors, in a job."


def _check_state(space: EmbeddingSpace, state: SpaceState) -> None:
    if space.state != state:
        raise SpaceConflict(f"{space} is {space.state}, not {state}; choose the one that is.")


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
        fits=lambda entry: entry.version.source.kind == SourceKind.UPLOAD,
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
