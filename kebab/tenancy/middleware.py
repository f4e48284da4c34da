"""The workspace of requests to the admin: all, for staff. Others begin without one, see `kebab.accounts`."""

from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from kebab.middleware import Middleware
from kebab.tenancy.current_workspace import acting_everywhere

# As in kebab.urls. For the whole request, since templates are rendered after the views have returned.
_ADMIN = "/admin/"


class ActInAdmin(Middleware):
    """After authentication: the admin's pages act in all workspaces for active staff."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Process the request, in all workspaces for staff in the admin."""
        if not request.path_info.startswith(_ADMIN) or not _is_operator(request):
            return self._get_response(request)
        with acting_everywhere():
            return self._get_response(request)


def _is_operator(request: HttpRequest) -> bool:
    user: Any = request.user
    return bool(user.is_active and user.is_staff)
