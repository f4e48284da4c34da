"""Django admin actions on jobs, quarantined files, sources, versions and embedding spaces."""

from functools import partial

from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from ingest.models import Job, Unreadable
from ingest.services.embedding import build_space, retire_space, roll_back_space, switch_space
from ingest.services.jobs import cancel_job, retry_job
from ingest.services.quarantine import delete_unreadable, retry_unreadable
from ingest.services.sources import delete_source, delete_version, sync_source
from kebab.admin.actions import RowAction, admin_access, register_actions
from kebab.people.models import Workspace
from search.errors import SpaceConflict
from search.models import EmbeddingSpace, Source, SourceKind, SourceVersion, SpaceState


def _cancel(request: HttpRequest, job: Job) -> str:
    cancelled = cancel_job(admin_access(request, job.workspace), job)
    return f"Job {job.pk} is cancelled." if cancelled.is_finished else f"Job {job.pk} ends within seconds."


def _retry(request: HttpRequest, job: Job) -> str:
    new_job = retry_job(admin_access(request, job.workspace), job)
    return f"Job {new_job.pk} does again what failed in {job.pk}."


def _retry_unreadable(request: HttpRequest, entry: Unreadable) -> str:
    job = retry_unreadable(admin_access(request, entry.workspace), entry)
    return f"Job {job.pk} reads {entry.path} again."


def _delete_unreadable_upload(request: HttpRequest, entry: Unreadable) -> str:
    delete_unreadable(admin_access(request, entry.workspace), entry)
    return f"{entry.path} of {entry.version.source.key} is forgotten."


def _sync(request: HttpRequest, source: Source) -> str:
    job = sync_source(admin_access(request, source.workspace), source)
    return f"Job {job.pk} reads {source.key} again."


def _delete_source(request: HttpRequest, source: Source) -> str:
    job = delete_source(admin_access(request, source.workspace), source)
    return f"Job {job.pk} deletes {source.key} with all its documents."


def _delete_version(request: HttpRequest, version: SourceVersion) -> str:
    job = delete_version(admin_access(request, version.workspace), version.source, version.tag)
    return f"Job {job.pk} deletes {version.source.key}@{version.tag} with its documents."


def _build_space(request: HttpRequest, workspace: Workspace) -> str:
    space = build_space(admin_access(request, workspace))
    return f"Vectors of {space} are made for {workspace.slug}; it goes live by itself once it is complete."


def _switch(request: HttpRequest, space: EmbeddingSpace) -> str:
    _check_state(space, SpaceState.BUILDING)
    live = switch_space(admin_access(request, space.workspace))
    return f"{live} is live in {space.workspace}."


def _roll_back(request: HttpRequest, space: EmbeddingSpace) -> str:
    _check_state(space, SpaceState.LIVE)
    live = roll_back_space(admin_access(request, space.workspace))
    return f"{live} is live in {space.workspace} again."


def _retire(request: HttpRequest, space: EmbeddingSpace) -> str:
    retire_space(admin_access(request, space.workspace), space.pk)
    return f"{space} is deleted from {space.workspace} with its vectors, in a job."


def _check_state(space: EmbeddingSpace, state: SpaceState) -> None:
    if space.state != state:
        raise SpaceConflict(f"{space} is {space.state}, not {state}; choose the one that is.")


_delete_action = partial(RowAction, icon="delete", permission="delete", is_destructive=True)

register_actions(
    Job,
    RowAction(
        name="cancel",
        label=_("Cancel"),
        icon="cancel",
        question=_("Cancel this job? What it has done so far is kept."),
        perform=_cancel,
        is_destructive=True,
        fits=lambda job: not job.is_finished,
    ),
    RowAction(
        name="retry",
        label=_("Retry"),
        icon="replay",
        question=_("Retry what failed, in a new job?"),
        perform=_retry,
        fits=lambda job: job.is_finished,
    ),
)
register_actions(
    Unreadable,
    RowAction(
        name="retry",
        label=_("Read again"),
        icon="replay",
        question=_("Read this file again?"),
        perform=_retry_unreadable,
    ),
    _delete_action(
        name="forget",
        label=_("Delete"),
        question=_("Delete this uploaded file? A document at its path is kept."),
        perform=_delete_unreadable_upload,
        fits=lambda entry: entry.version.source.kind == SourceKind.UPLOAD,
    ),
)
register_actions(
    Source,
    RowAction(
        name="sync",
        label=_("Sync"),
        icon="sync",
        question=_("Sync this source now?"),
        perform=_sync,
        fits=lambda source: source.kind != SourceKind.UPLOAD,
    ),
    _delete_action(
        name="delete",
        label=_("Delete with documents"),
        question=_("Delete this source and all its documents for good? A job does it."),
        perform=_delete_source,
    ),
)
register_actions(
    SourceVersion,
    _delete_action(
        name="delete",
        label=_("Delete with documents"),
        question=_("Delete this version and its documents for good? A job does it."),
        perform=_delete_version,
        fits=lambda version: version.tag != "",
    ),
)
register_actions(
    Workspace,
    RowAction(
        name="reembed",
        label=_("Re-embed"),
        icon="model_training",
        question=_("Build new vectors next to the live ones? Searches continue."),
        perform=_build_space,
    ),
)
register_actions(
    EmbeddingSpace,
    RowAction(
        name="switch",
        label=_("Make live"),
        icon="swap_horiz",
        question=_("Make the new embedding space live now?"),
        perform=_switch,
        fits=lambda space: space.state == SpaceState.BUILDING,
    ),
    RowAction(
        name="rollback",
        label=_("Roll back"),
        icon="undo",
        question=_("Make the previous embedding space live again?"),
        perform=_roll_back,
        fits=lambda space: space.state == SpaceState.LIVE,
    ),
    _delete_action(
        name="retire",
        label=_("Delete with vectors"),
        question=_("Delete this embedding space and its vectors? A job does it."),
        perform=_retire,
        fits=lambda space: space.state != SpaceState.LIVE,
    ),
)
