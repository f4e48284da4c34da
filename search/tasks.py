"""Celery tasks of search: following the log at once on this node, and dropping what is kept no longer."""

import uuid

from celery import shared_task
from django.conf import settings

from kebab.people.models import Workspace
from kebab.tenancy.current_workspace import acting_everywhere
from search.corpus.changelog import prune_changes
from search.mirror.errors import MirrorBusy
from search.mirror.files import MirrorFiles
from search.mirror.sync.sync import sync_mirror
from search.query_log.storage import prune_queries


@shared_task(name="search.sync_mirror")
def sync_mirror_task(workspace_id: str) -> None:
    """Bring this node's mirror of a workspace up to date; a lost message costs a second at most."""
    id_ = uuid.UUID(workspace_id)
    files = MirrorFiles.of(settings.KEBAB_MIRROR_DIR, id_)
    if files.is_cold:
        return  # it was dropped for not being used, and writes are no use of it
    try:
        sync_mirror(files, id_)
    except MirrorBusy:
        return  # whoever is at it sees this change too, or the next look does
    except Workspace.DoesNotExist:
        files.remove_all()


@shared_task(name="search.prune_changes")
def prune_changes_task() -> None:
    """Drop changes that every mirror has had a week to follow."""
    with acting_everywhere():
        prune_changes()


@shared_task(name="search.prune_answers")
def prune_answers_task() -> None:
    """Delete answers that are older than their workspaces keep them."""
    from search.answers.history import prune_answers  # it brings the whole search along

    with acting_everywhere():
        prune_answers()


@shared_task(name="search.prune_queries")
def prune_queries_task() -> None:
    """Delete queries that are older than their workspaces keep them."""
    with acting_everywhere():
        prune_queries()
