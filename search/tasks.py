"""Celery tasks of search: sync of a mirror, notifications, and retention of changes, answers and queries."""

import logging
import uuid

from celery import shared_task
from django.conf import settings

from kebab.identity.models import Workspace
from kebab.tenancy.current_workspace import acting_everywhere
from search.corpus.replace import prune_changes
from search.mirror.files import MirrorBusy, MirrorFiles
from search.mirror.sync.sync import sync_mirror
from search.notifications.document_events import queue_document_events
from search.query_log.storage import prune_queries, publish_typed_queries

logger = logging.getLogger(__name__)


@shared_task(name="search.sync_mirror")
def sync_mirror_task(workspace_id: str) -> None:
    """Bring this node's mirror of a workspace up to date; a lost message costs a second at most."""
    id_ = uuid.UUID(workspace_id)
    files = MirrorFiles.of(settings.KEBAB_MIRROR_DIR, id_)
    if files.is_evicted:
        return  # evicted as unused; a write is no use of it
    try:
        sync_mirror(files, id_)
    except MirrorBusy:
        return  # the running sync, or the next poll, applies this change too
    except Workspace.DoesNotExist:
        files.delete_all()


@shared_task(name="search.prune_changes")
def prune_changes_task() -> None:
    """Delete changes older than a week."""
    with acting_everywhere():
        prune_changes()


@shared_task(name="search.prune_answers")
def prune_answers_task() -> None:
    """Delete answers past their workspace's retention."""
    from search.answers.conversation import prune_answers  # it imports all of search

    with acting_everywhere():
        prune_answers()


@shared_task(name="search.prune_queries")
def prune_queries_task() -> None:
    """Delete logged queries past their workspace's retention."""
    with acting_everywhere():
        prune_queries()


@shared_task(name="search.notify")
def notify_task() -> None:
    """Queue events about documents and unsuccessful searches for webhooks, and alerts; send their mails."""
    from search.notifications.alert_mail import send_alert_mails  # they import all of search
    from search.notifications.alerts import evaluate_alerts

    for step in (queue_document_events, publish_typed_queries, evaluate_alerts, send_alert_mails):
        try:
            step()
        except Exception:  # the other steps are done
            logger.exception("%s is left to the next call", step.__name__)
