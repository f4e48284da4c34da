"""The admin site at /admin/; models registered with Django's default site don't appear in it."""

import shutil
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any
from urllib.parse import unquote

from django.conf import settings
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import SuspiciousOperation
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy as _
from unfold.sites import UnfoldAdminSite

from kebab.http.security_headers import ADMIN_POLICY


class OperatorSite(UnfoldAdminSite):
    """The admin site for active staff; anonymous users are sent to the ordinary login page."""

    site_title = site_header = "Kebab"
    index_title = _("Administration")
    index_template = "operating/index.html"

    def get_urls(self) -> list[Any]:
        """Return the URLs of all registered models.

        Imports the apps' `admin` modules only now: that takes a second of processor time and 22 MB, and most
        processes never need them.
        """
        autodiscover_modules("admin", register_to=self)
        return list(super().get_urls())

    def index(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """Return the start page: figures of the models that a user may see, and the disk."""
        seen = (admin for admin in self._registry.values() if admin.has_view_permission(request))
        figures = [figure for admin in seen for figure in admin.start_figures()]
        disk = shutil.disk_usage(settings.KEBAB_DATA_DIR)
        return super().index(request, {"figures": figures, "disk": disk})

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Redirect to the login page. Raises Http404 for signed-in users who aren't staff."""
        if request.user.is_authenticated and not self.has_permission(request):
            raise Http404
        return redirect_to_login(request.GET.get(REDIRECT_FIELD_NAME) or reverse("admin:index"))

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Callable[..., Any]:
        """Wrap a view as Django does, and set the content security policy that Unfold's scripts need."""
        admitted = super().admin_view(view, cacheable)

        @wraps(admitted)
        def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if any("\x00" in text for text in _request_texts(request)):
                raise SuspiciousOperation("The request holds a NUL, which Postgres refuses.")
            response: HttpResponseBase = admitted(request, *args, **kwargs)
            if self.has_permission(request):
                response.headers["Content-Security-Policy"] = ADMIN_POLICY
            return response

        return answer

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """Return the context of all pages; colours come from a file, not from a style element in the page."""
        return {**super().each_context(request), "colors": None}


def _request_texts(request: HttpRequest) -> Iterator[str]:
    """Yield the request's URL, and the names and values of its form."""
    yield unquote(request.get_full_path())
    for name, values in request.POST.lists():
        yield from (name, *values)


site = OperatorSite(name="admin")
