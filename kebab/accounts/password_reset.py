"""Links by e-mail to set a forgotten password."""

import logging
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from django.conf import settings
from django.contrib.auth.tokens import default_token_generator
from django.core.mail import EmailMessage
from django.db import connection
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode
from django.utils.translation import gettext as _

from kebab.identity.models import User

logger = logging.getLogger(__name__)


def queue_reset_mail(email: str, site: str) -> None:
    """Send a reset link below `site` to `email` from a background thread, if it has an account.

    Neither the content nor the timing of the response then reveals whether the account exists.
    """
    _mail_executor().submit(_send_reset_mail_in_thread, email, site)


def user_of_link(uid: str, token: str) -> User | None:
    """Return the user whose password the link may set; None for a used, expired or invalid link."""
    try:
        pk = int(urlsafe_base64_decode(uid).decode("ascii"))
    except ValueError:
        return None
    user = User.objects.filter(pk=pk, is_active=True).first()
    return user if user is not None and default_token_generator.check_token(user, token) else None


def send_reset_mail(email: str, site: str) -> None:
    """Send the link to `email` if it belongs to an active user with a password."""
    user = User.objects.with_address(email).filter(is_active=True).first()
    if user is not None and user.has_usable_password():
        _create_message(user, site).send()


def _send_reset_mail_in_thread(email: str, site: str) -> None:
    try:
        send_reset_mail(email, site)
    except Exception as error:  # noqa: BLE001  # end of a thread; the message could hold the link
        logger.error("a link to set a password was not sent: %s", type(error).__name__)
    finally:
        connection.close()


@cache
def _mail_executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=2, thread_name_prefix="reset-mail")


def _create_message(user: User, site: str) -> EmailMessage:
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    link = reverse("password-reset-link", args=[uid, default_token_generator.make_token(user)])
    with translation.override(user.language or settings.LANGUAGE_CODE):
        text = render_to_string("accounts/reset_mail.txt", {"user": user, "link": f"{site}{link}"})
        return EmailMessage(_("Set a new password for Kebab"), text, to=[user.email])
