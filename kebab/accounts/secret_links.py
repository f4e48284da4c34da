"""Links that hold a secret: what they open has an address without it.

The secret moves into a cookie of that one page before anything else is done, so that it stands neither in the
address bar, nor in a Referer, nor in what is logged of a request that fails.
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


@method_decorator([csrf_exempt, never_cache], name="dispatch")  # nothing is done but to move on
class OpenLink(View):
    """Moves the secret of the address into the cookie `cookie` of the page named `page`."""

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
    """Have the browser forget the secret, and give `response`."""
    response.delete_cookie(cookie, path=reverse(page), samesite="Lax")
    return response


def held_secret(request: HttpRequest, cookie: str) -> str:
    """Return the secret that the browser holds; empty when it holds none."""
    held: Any = request.COOKIES.get(cookie, "")
    return str(held)


def link_gone(request: HttpRequest, page: str) -> HttpResponse:
    """Return the page for a link to `page` that is no good."""
    return render(request, "accounts/link_gone.html", {"page": page}, status=404)
