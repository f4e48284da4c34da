"""The admin's site at /admin/: what is registered here is shown, whatever apps register elsewhere."""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any
from urllib.parse import unquote

from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import SuspiciousOperation
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.module_loading import autodiscover_modules
from unfold.sites import UnfoldAdminSite

from kebab.http.security_headers import ADMIN_POLICY

#: What operators look for, in the order of their days: headings, models and what they are called here.
_CONTENTS = {
    "Work": {"ingest.Job": "Jobs", "ingest.Unreadable": "Quarantine"},
    "Corpus": {
        "search.Source": "Sources",
        "search.SourceVersion": "Versions",
        "search.Document": "Documents",
        "search.EmbeddingSpace": "Embedding spaces",
    },
    "People": {
        "people.Workspace": "Workspaces",
        "people.User": "Users",
        "people.Membership": "Members",
        "people.Group": "Groups",
        "people.Invitation": "Invitations",
        "people.ApiToken": "Tokens",
    },
    "Log": {"people.AuditEvent": "Audit"},
}


class OperatorSite(UnfoldAdminSite):  # type: ignore[misc]
    """Opened by active staff; who isn't logged in goes to the login page that everybody uses."""

    site_title = site_header = "Kebab"
    index_title = "Operation"

    def get_urls(self) -> list[Any]:
        """Return the pages of what the apps register; only now is it imported, which most processes never
        need.

        It takes a second of processor time and 22 MB.
        """
        autodiscover_modules("admin", register_to=self)
        return list(super().get_urls())

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Send to the login page. Raises Http404 for who is logged in and no staff: there is nothing here."""
        if request.user.is_authenticated and not self.has_permission(request):
            raise Http404
        return redirect_to_login(request.GET.get(REDIRECT_FIELD_NAME) or reverse("admin:index"))

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """Return what the person may see, under the headings of `_CONTENTS`; of one app, as Django has it."""
        apps: list[Any] = super().get_app_list(request, app_label)
        if app_label is not None:
            return apps
        seen = {model["model"]._meta.label: model for app in apps for model in app["models"]}
        groups = [
            (heading, [seen[label] | {"name": name} for label, name in names.items() if label in seen])
            for heading, names in _CONTENTS.items()
        ]
        return [
            {
                "name": heading,
                "app_label": heading.lower(),
                "app_url": "",
                "has_module_perms": True,
                "models": models,
            }
            for heading, models in groups
            if models
        ]

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Callable[..., Any]:
        """Wrap a view as Django does; those who may see it get the policy that Unfold's scripts need."""
        admitted = super().admin_view(view, cacheable)

        @wraps(admitted)
        def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if any("\x00" in text for text in _given(request)):
                raise SuspiciousOperation("The request holds a NUL, which Postgres refuses.")
            response: HttpResponseBase = admitted(request, *args, **kwargs)
            if self.has_permission(request):
                response.headers["Content-Security-Policy"] = ADMIN_POLICY
            return response

        return answer

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """Return what all pages need; the colours come from a file, not from a style element in the page."""
        return {**super().each_context(request), "colors": None}


def _given(request: HttpRequest) -> Iterator[str]:
    """Return the address, and the names and values of the form."""
    yield unquote(request.get_full_path())
    for name, values in request.POST.lists():
        yield from (name, *values)


site = OperatorSite(name="admin")
