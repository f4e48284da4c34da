"""Where requests act: nowhere, until a view knows its workspace; an operator's in the admin everywhere."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from kebab.tenancy.current_workspace import acting_everywhere, acting_nowhere

# As in kebab.urls; the whole request, for its pages are made after their views have returned.
_ADMIN = "/admin/"

GetResponse = Callable[[HttpRequest], HttpResponseBase]


class ActNowhere:
    """First in the list: whatever the thread did before, a request begins without a workspace."""

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer."""
        with acting_nowhere():
            return self._get_response(request)


class ActInAdmin:
    """Behind authentication: the admin's pages act everywhere for an active staff member."""

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer."""
        if not request.path_info.startswith(_ADMIN) or not _is_operator(request):
            return self._get_response(request)
        with acting_everywhere():
            return self._get_response(request)


def _is_operator(request: HttpRequest) -> bool:
    user: Any = request.user
    return bool(user.is_active and user.is_staff)
