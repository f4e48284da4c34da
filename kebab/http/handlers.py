"""The WSGI handlers of views: requests with a token take fewer middlewares than pages and their sessions."""

from functools import lru_cache
from io import BytesIO
from typing import Any, Final

from django.contrib.auth.models import AnonymousUser
from django.core.cache import close_caches
from django.core.handlers.base import reset_urlconf
from django.core.handlers.exception import convert_exception_to_response
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, reset_queries
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import ResolverMatch, URLResolver, get_resolver
from django.utils.module_loading import import_string

from kebab.tenancy.postgres.standby import leave_lost_primary

_API: Final = "/api/v1/"
_KNOWN_ADDRESSES: Final = 256
_UNAVAILABLE: Final = 503
_READING: Final = frozenset({"GET", "HEAD"})
# Of Django's receivers, those without effect here: a request ends without a connection, none logs its
# queries, no cache has one, and each request begins with the same URL table.
_NEEDLESS: Final = (
    (request_started, reset_queries),
    (request_started, close_old_connections),
    (request_finished, close_caches),
    (request_finished, reset_urlconf),
)
# Those of `settings.MIDDLEWARE` for requests without a session, a form or a page.
_OF_TOKEN_REQUESTS: Final = (
    "kebab.http.request_id.IdentifyRequests",
    "kebab.accounts.middleware.BeginRequests",
    "kebab.observability.metrics.requests.MeasureRequests",
    "kebab.http.security_headers.SecurityHeaders",
    "kebab.http.security_headers.AllowOrigins",
    "kebab.http.security_headers.RequireHttps",
    "django.middleware.common.CommonMiddleware",
    "kebab.http.rate_limits.middleware.LimitPages",
)


class ViewHandler(WSGIHandler):
    """The handler of all views."""

    def __init__(self) -> None:
        super().__init__()
        for signal, receiver in _NEEDLESS:
            signal.disconnect(receiver)
        self._token_requests = TokenRequestHandler()

    def get_response(self, request: HttpRequest) -> HttpResponseBase:
        """Return the response to a request; one that only reads is repeated if its connection is lost."""
        if is_token_request(request):
            response = self._token_requests.get_response(request)
        else:
            response = super().get_response(request)
        if response.status_code == _UNAVAILABLE and _rewind(request) and leave_lost_primary():
            return self.get_response(WSGIRequest(request.META))
        return response


def _rewind(request: HttpRequest) -> bool:
    """Return whether a request only reads, as its view may say of a POST, and begin its body again."""
    view = getattr(getattr(request.resolver_match, "func", None), "cls", None)
    body = request.META["wsgi.input"]
    is_search = getattr(view, "only_reads", False) and isinstance(body, BytesIO)
    return request.method in _READING or (is_search and body.seek(0) == 0)


class TokenRequestHandler(WSGIHandler):
    """The handler of requests with a token, which have no session."""

    def load_middleware(self, is_async: bool = False) -> None:
        """Build the chain; its middlewares have no hooks but `__call__`."""
        self._view_middleware: list[Any] = []
        self._template_response_middleware: list[Any] = []
        self._exception_middleware: list[Any] = []
        handler = convert_exception_to_response(self._get_response)  # type: ignore[attr-defined]  # the stubs lack it
        for path in reversed(_OF_TOKEN_REQUESTS):
            handler = convert_exception_to_response(import_string(path)(handler))
        self._middleware_chain = handler

    def get_response(self, request: HttpRequest) -> HttpResponseBase:
        """Return the response to a request, whose user is anonymous until REST framework authenticates it."""
        request.user = AnonymousUser()
        return super().get_response(request)

    def resolve_request(self, request: HttpRequest) -> ResolverMatch:
        """Return what an address leads to, as Django's does, from a cache of those that are asked often."""
        request.resolver_match = _resolve(get_resolver(), request.path_info)
        return request.resolver_match


@lru_cache(maxsize=_KNOWN_ADDRESSES)
def _resolve(resolver: URLResolver, path: str) -> ResolverMatch:
    return resolver.resolve(path)


def is_token_request(request: HttpRequest) -> bool:
    """Return whether the API answers a request by its bearer token, whatever session it may have."""
    if not request.path_info.startswith(_API):
        return False
    scheme, _, _ = request.META.get("HTTP_AUTHORIZATION", "").lstrip().partition(" ")
    return str(scheme).lower() == "bearer"
