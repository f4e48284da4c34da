"""Links with a secret in their URL, which redirect to a page without it.

The secret is moved into a cookie of that one page first, so that it appears neither in the address bar, nor
in a Referer header, nor in the log of a failed request.
"""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt

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
