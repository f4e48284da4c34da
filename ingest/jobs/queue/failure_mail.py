"""Marks of jobs that need attention, and a mail to the owner of a source when its syncs begin to fail."""

import logging
import uuid
from collections.abc import Mapping
from smtplib import SMTPException
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.urls import reverse

from ingest.jobs.queue.report import refused_by_reason
from ingest.models import Job, JobKind, JobState
from kebab.identity.caller import Caller, member_access, with_group_ids
from kebab.identity.models import AuditEvent, Membership, Role
from kebab.people.invitations import mail_is_delivered
from search.access.restrictions import visible_sources
from search.models import Source

logger = logging.getLogger(__name__)


def mail_failed_sync(workspace_id: uuid.UUID, job_id: uuid.UUID) -> None:
    """Mail the owner of the source that this sync failed; call it outside of a transaction.

    Without a mail server, or when it refuses the mail, nothing is sent; the latter is logged.
    """
    if not mail_is_delivered():
        return
    jobs = Job.objects.in_workspace(workspace_id).select_related("source", "workspace")
    job = jobs.filter(pk=job_id).first()
    if job is None or job.source is None:
        return
    name = " ".join((job.source.title or job.source.key).split())  # a header has no line breaks
    root = settings.KEBAB_URL  # '' while the operator has not said where people find Kebab
    facts = {
        "source": name,
        "workspace": job.workspace.name,
        "error": job.error,
        "link": root and root + reverse("act", args=[job.workspace.slug, job.pk]),
    }
    subject = render_to_string("ingest/sync_failed_subject.txt", facts).strip()
    message = EmailMessage(
        subject, render_to_string("ingest/sync_failed.txt", facts), to=source_owners(job.source)
    )
    try:
        message.send()
    except (SMTPException, OSError) as error:
        logger.warning("The mail about job %s was not sent: %s", job_id, type(error).__name__)


def source_owners(source: Source) -> list[str]:
    """Return the address of the editor who added the source, else those of the workspace's owners."""
    creator = (
        AuditEvent.objects.filter(workspace=source.workspace_id, action="source.created", subject=source.key)
        .values_list("actor", flat=True)
        .first()
    )
    members = Membership.objects.filter(workspace=source.workspace_id, user__is_active=True)
    added_it = with_group_ids(members.filter(user__email=creator)).select_related("workspace", "user").first()
    if added_it is not None and _may_edit(added_it, source):
        return [added_it.user.email]
    owners = members.filter(role=Role.OWNER).order_by("user__email")
    return list(owners.values_list("user__email", flat=True))


def _may_edit(membership: Membership, source: Source) -> bool:
    access = member_access(Caller(user=membership.user), membership)
    is_editor = Role(membership.role).level >= Role.EDITOR.level
    return is_editor and visible_sources(access.workspace, access.reader).filter(pk=source.pk).exists()


def record_attention(job: Job, state: JobState, counts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the ended job that say whether it needs attention.

    `job.counts` are those of its listing, `counts` the final ones. Files that an earlier sync refused need
    attention again only if nobody has dismissed that sync; the newest sync alone is marked.
    """
    refused = sum(refused_by_reason(job.kind, counts).values())
    was_marked = state != JobState.CANCELLED and bool(_unmark_earlier_jobs(job, state))
    is_new = refused > sum(refused_by_reason(job.kind, job.counts).values())
    needs_attention = state == JobState.FAILED or is_new or (was_marked and refused > 0)
    return {"refused_items": refused, "needs_attention": needs_attention}


def _unmark_earlier_jobs(job: Job, state: JobState) -> int:
    """Unmark the jobs whose outcome this one replaces; return their number."""
    marked = Job.objects.in_workspace(job.workspace_id).filter(kind=job.kind, needs_attention=True)
    if job.is_whole_sync:
        marked = marked.filter(source=job.source_id)
    elif job.kind != JobKind.EMBED or state != JobState.SUCCEEDED:
        return 0
    return marked.exclude(pk=job.pk).update(needs_attention=False)
