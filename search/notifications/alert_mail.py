"""Mails of alerts, in which the owner's current rights decide which documents are named."""

import logging
import uuid
from datetime import timedelta
from smtplib import SMTPException
from typing import Final

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models.functions import Now
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation

from kebab.identity.caller import Access
from kebab.tenancy.current_workspace import acting_everywhere, acting_in
from search.access.restrictions import visible_documents
from search.models import Notify, SavedSearch
from search.notifications.saved_searches import owner_access, page_address

logger = logging.getLogger(__name__)

#: After as long a mail that was not sent, or whose sender died, is sent again.
RETRY: Final = timedelta(minutes=10)
_MAILS: Final = 50


def send_alert_mails() -> int:
    """Send the mails that are due; return their number."""
    with acting_everywhere():
        due = SavedSearch.objects.filter(notify=Notify.MAIL, mail_due_at__lte=Now())
        found = list(due.order_by("mail_due_at").values_list("workspace_id", "pk")[:_MAILS])
    count = 0
    for workspace_id, search_id in found:
        with acting_in(workspace_id):
            count += _send_if_due(workspace_id, search_id)
    return count


def _send_if_due(workspace_id: uuid.UUID, search_id: uuid.UUID) -> bool:
    """Claim the mail by its due time, send it, and then forget what it told."""
    own = SavedSearch.objects.in_workspace(workspace_id).filter(pk=search_id)
    if not own.filter(notify=Notify.MAIL, mail_due_at__lte=Now()).update(mail_due_at=Now() + RETRY):
        return False
    saved = own.select_related("workspace", "membership__user").first()
    access = None if saved is None else owner_access(saved)
    if saved is None:
        return False
    if access is not None and not _send(saved, access):
        return False
    with transaction.atomic():
        fresh = own.select_for_update().first()
        if fresh is not None:
            left = [doc_id for doc_id in fresh.unsent if doc_id not in set(saved.unsent)]
            own.update(unsent=left, mail_due_at=Now() if left else None)
    return access is not None


def _send(saved: SavedSearch, access: Access) -> bool:
    """Send the mail, if a document is left to tell of; return False if the mail server refuses it."""
    documents = visible_documents(saved.workspace, access.reader).filter(doc_id__in=saved.unsent)
    named = [
        (document.title or document.path, document.path, _link("document", saved, document.doc_id))
        for document in documents.order_by("-dated_at", "-id")
    ]
    if not named:
        return True
    user = saved.membership.user
    facts = {
        "name": " ".join(saved.name.split()),  # a header has no line breaks
        "workspace": " ".join(saved.workspace.name.split()),
        "documents": named,
        "count": len(named),
        "search": settings.KEBAB_URL and settings.KEBAB_URL + (page_address(saved) or ""),
        "settings": _link("saved-searches", saved),
    }
    with translation.override(user.language or settings.LANGUAGE_CODE):
        subject = render_to_string("search/alert_subject.txt", facts).strip()
        message = EmailMessage(subject, render_to_string("search/alert.txt", facts), to=[user.email])
    try:
        message.send()
    except (SMTPException, OSError) as error:
        logger.warning("The mail of saved search %s was not sent: %s", saved.pk, type(error).__name__)
        return False
    return True


def _link(route: str, saved: SavedSearch, *arguments: uuid.UUID) -> str:
    """Return an address of a page; '' while the operator has not said where people find Kebab."""
    return settings.KEBAB_URL and settings.KEBAB_URL + reverse(route, args=[saved.workspace.slug, *arguments])
