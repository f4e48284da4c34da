"""Middleware that begins requests: without a workspace, and with the address for audit events."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from kebab.http.rate_limits.client_address import client_address
from kebab.middleware import Middleware
from kebab.people.audit import acting_from
from kebab.tenancy.current_workspace import acting_nowhere


class BeginRequests(Middleware):
    """First in the list: a request starts without a workspace, whatever its thread did before."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Process the request without a workspace, and with its client address for audit events."""
        with acting_nowhere(), acting_from(client_address(request)):
            return self._get_response(request)
