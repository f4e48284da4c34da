"""Request ids: each request's log lines carry one, taken from `X-Request-ID` if that is harmless.

The response carries it if the request had one, and for server errors. Other responses don't, so that those
which must look alike, as for a missing resource and for one the caller may not see, stay alike.
"""

from collections.abc import Iterable
from http import HTTPStatus

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, ASGISendEvent, HTTPScope
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from kebab.http.asgi_types import HttpApplication
from kebab.middleware import Middleware
from kebab.observability import tracing
from kebab.observability.log_formats import REQUEST_ID_HEADER, accept_request_id, bind_log_fields, request_id

_HEADER = REQUEST_ID_HEADER.lower().encode()
_META_KEY = f"HTTP_{REQUEST_ID_HEADER.upper().replace('-', '_')}"


class IdentifyRequests(Middleware):
    """Middleware that sets the request id of requests that did not come by ASGI, as those of tests."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request, with a request id."""
        if request_id():
            return self._get_response(request)
        own = accept_request_id(request.META.get(_META_KEY, ""))
        with bind_log_fields(request_id=own):
            response = self._get_response(request)
        if _META_KEY in request.META or _exposes_request_id(response.status_code):
            response.headers.setdefault(REQUEST_ID_HEADER, own)
        return response


async def answer_with_request_id(
    app: HttpApplication, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable
) -> None:
    """Run `app` for an HTTP request with a request id, as a span of its caller's trace."""
    headers = dict(scope["headers"])
    own = accept_request_id(headers.get(_HEADER, b"").decode("latin-1"))

    async def send_with_request_id(message: ASGISendEvent) -> None:
        if message["type"] == "http.response.start":
            if _HEADER in headers or _exposes_request_id(message["status"]):
                headers_with_id = [*_without_request_id(message["headers"]), (_HEADER, own.encode())]
                message = {**message, "headers": headers_with_id}
            tracing.add_attributes(**{"http.response.status_code": message["status"]})
        await send(message)

    cause = headers.get(b"traceparent", b"").decode("latin-1")
    with (
        bind_log_fields(request_id=own),
        tracing.span("request", cause=cause, **{"http.request.method": scope["method"]}),
    ):
        await app(scope, receive, send_with_request_id)


def _exposes_request_id(status: int) -> bool:
    """Return whether the caller may need the id to report the failure to an operator."""
    return status >= HTTPStatus.INTERNAL_SERVER_ERROR


def _without_request_id(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, value in headers if name.lower() != _HEADER]
