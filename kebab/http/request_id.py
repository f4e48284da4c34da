"""Each request has an id, its own where it brings a harmless one, which all log lines about it have.

The response has it where the request brought one, and where something of ours went wrong: answers that are to
look alike, as for what is not there and for what one may not see, stay alike.
"""

from collections.abc import Callable, Iterable, MutableMapping
from http import HTTPStatus
from typing import Any

from asgiref.typing import ASGI3Application, ASGIReceiveCallable, ASGISendCallable, HTTPScope
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from kebab.observability import tracing
from kebab.observability.log_context import REQUEST_ID_HEADER, about, accepted_request_id, request_id

_HEADER = REQUEST_ID_HEADER.lower().encode()


class IdentifyRequests:
    """Middleware for requests that did not come by ASGI, as those of tests."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer."""
        if request_id():
            return self._get_response(request)
        own = accepted_request_id(request.headers.get(REQUEST_ID_HEADER, ""))
        with about(request_id=own):
            response = self._get_response(request)
        if REQUEST_ID_HEADER in request.headers or _is_told(response.status_code):
            response.headers.setdefault(REQUEST_ID_HEADER, own)
        return response


async def answer_identified(
    app: ASGI3Application, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable
) -> None:
    """Have `app` answer an HTTP request that has an id, as a span of its caller's trace."""
    headers = dict(scope["headers"])
    own = accepted_request_id(headers.get(_HEADER, b"").decode("latin-1"))

    async def send_identified(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            if _HEADER in headers or _is_told(message["status"]):
                message = {**message, "headers": [*_others(message["headers"]), (_HEADER, own.encode())]}
            tracing.note(**{"http.response.status_code": message["status"]})
        await send(message)  # type: ignore[arg-type]  # as it came

    cause = headers.get(b"traceparent", b"").decode("latin-1")
    with (
        about(request_id=own),
        tracing.span("request", cause=cause, **{"http.request.method": scope["method"]}),
    ):
        await app(scope, receive, send_identified)  # type: ignore[arg-type]


def _is_told(status: int) -> bool:
    """Return whether somebody may want to name the request to who looks after Kebab."""
    return status >= HTTPStatus.INTERNAL_SERVER_ERROR


def _others(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, value in headers if name.lower() != _HEADER]
