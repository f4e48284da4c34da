"""A mail to the owners of a workspace when one of its webhooks is disabled, where the server sends mail."""

import logging
from smtplib import SMTPException

from django.conf import settings
from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.urls import reverse

from kebab.identity.models import Membership, Role
from kebab.people.invitations.mail import mail_is_delivered
from kebab.webhooks.models import Endpoint

logger = logging.getLogger(__name__)


def mail_disabled(endpoint: Endpoint, reason: str) -> None:
    """Mail the owners that the endpoint is disabled; a refusal by the mail server is logged."""
    if not mail_is_delivered():
        return
    workspace = endpoint.workspace
    owners = Membership.objects.filter(workspace=workspace, role=Role.OWNER, user__is_active=True)
    page = reverse("webhook", args=[workspace.slug, endpoint.pk])
    facts = {
        "url": endpoint.masked_url,
        "workspace": " ".join(workspace.name.split()),  # a header has no line breaks
        "reason": reason,
        "link": settings.KEBAB_URL and settings.KEBAB_URL + page,
    }
    message = EmailMessage(
        render_to_string("webhooks/disabled_subject.txt", facts).strip(),
        render_to_string("webhooks/disabled.txt", facts),
        to=list(owners.order_by("user__email").values_list("user__email", flat=True)),
    )
    try:
        message.send()
    except (SMTPException, OSError) as error:
        logger.warning("The mail about webhook %s was not sent: %s", endpoint.pk, type(error).__name__)
