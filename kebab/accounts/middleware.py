"""Lets whatever is written into the audit during a request say where the request came from."""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from kebab.http.rate_limits.client_address import client_address
from kebab.people.audit import acting_from


class AuditAddress:
    """Middleware; what stands before it in the list can't write with an address."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer."""
        with acting_from(client_address(request)):
            return self._get_response(request)
