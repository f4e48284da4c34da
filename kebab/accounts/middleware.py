"""Middleware that adds the client address of a request to its audit events."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from kebab.http.rate_limits.client_address import client_address
from kebab.middleware import Middleware
from kebab.people.audit import acting_from


class AuditAddress(Middleware):
    """Sets the address for audit events; middleware before it in the list records without one."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Process the request with its client address set."""
        with acting_from(client_address(request)):
            return self._get_response(request)
