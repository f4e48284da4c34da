"""Links with a secret in their URL, which redirect to a page without it.

The secret is moved into a cookie of that one page first, so that it appears neither in the address bar, nor
in a Referer header, nor in the log of a failed request.
"""

import logging
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from django.conf import settings
from django.contrib.auth.tokens import default_token_generator
from django.core.mail import EmailMessage
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation
from django.utils.decorators import method_decorator
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode
from django.utils.translation import gettext as _
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt

from kebab.identity.models import User

_KEEP_S = 3600


@method_decorator([csrf_exempt, never_cache], name="dispatch")  # it only redirects
class OpenLink(View):
    """Moves the secret from the URL into the cookie `cookie` of the page named `page`."""

    http_method_names = ("get", "head")
    cookie = ""
    page = ""

    def get(self, request: HttpRequest, **secrets: str) -> HttpResponse:
        """Redirect to the page."""
        response = redirect(self.page)
        response.set_cookie(
            self.cookie,
            ".".join(secrets.values()),
            max_age=_KEEP_S,
            path=reverse(self.page),
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
        return response


def forget_link(response: HttpResponse, cookie: str, page: str) -> HttpResponse:
    """Delete the secret's cookie, and return `response`."""
    response.delete_cookie(cookie, path=reverse(page), samesite="Lax")
    return response


def read_link_secret(request: HttpRequest, cookie: str) -> str:
    """Return the secret from the browser's cookie; empty if there is none."""
    secret: Any = request.COOKIES.get(cookie, "")
    return str(secret)


def render_link_gone(request: HttpRequest, page: str) -> HttpResponse:
    """Return the 404 page for an invalid or expired link to `page`."""
    return render(request, "accounts/link_gone.html", {"page": page}, status=404)


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
