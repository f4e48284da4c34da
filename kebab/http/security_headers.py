"""Security headers of every response: content security policy, framing, caching.

They carry a token: cookies are never allowed (https://fetch.spec.whatwg.org/#http-cors-protocol).
"""

import re
from collections.abc import Callable, Mapping, ValuesView
from typing import Any, Final

from corsheaders.middleware import CorsMiddleware
from corsheaders.signals import check_request_enabled
from django.http import HttpRequest
from django.http.response import HttpResponseBase, ResponseHeaders
from django.middleware.security import SecurityMiddleware

from kebab.identity.models import Workspace
from kebab.identity.models.workspace import is_slug
from kebab.middleware import Middleware
from kebab.tenancy.current_workspace import acting_everywhere
from kebab.uuids import parse_uuid

_POLICY: Final[Mapping[str, str]] = {
    "default-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
    "object-src": "'none'",
}
# Swagger UI writes style elements, and its icons are data URLs; its scripts are static files.
_SWAGGER_UI: Final[Mapping[str, str]] = {
    **_POLICY,
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data:",
}
_SWAGGER_UI_PATH: Final = "/api/docs/"
# The admin's Alpine.js evaluates expressions and sets style attributes; inline style elements and inline
# scripts are refused there too.
_ADMIN: Final[Mapping[str, str]] = {
    **_POLICY,
    "script-src": "'self' 'unsafe-eval'",
    "style-src": "'self'",
    "style-src-attr": "'unsafe-inline'",
}
#: The search box that pages of other sites load.
EMBEDDED_PATH: Final = "/static/search/embed.js"
_UNUSED: Final = ("camera", "display-capture", "geolocation", "microphone", "payment", "usb")
# Defaults that a response may override; static files set their own Cache-Control.
_HEADERS: Final[Mapping[str, str]] = {
    "Permissions-Policy": ", ".join(f"{feature}=()" for feature in _UNUSED),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "private, no-store",
}


class SecurityHeaders(Middleware):
    """Middleware that adds security headers; it must come before any that answers with a page of its own."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request with the policy of its address; a stricter header set by a view stays."""
        response = self._get_response(request)
        response.headers = _MergedHeaders(response_headers(request.path), response.headers)
        return response


class _MergedHeaders(ResponseHeaders):
    """Headers with defaults, whose characters Django would check in every request if it set them."""

    def __init__(self, defaults: ResponseHeaders, own: ResponseHeaders) -> None:
        self._store = {**defaults._store, **own._store}

    def items(self) -> ValuesView[tuple[str, str]]:  # type: ignore[override]  # all that is done with it
        """Return the names and values, as they are stored."""
        return self._store.values()


class RequireHttps(SecurityMiddleware):
    """Django's redirect to HTTPS, and HSTS; `SecurityHeaders` sets the other headers of its middleware."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        super().__init__(get_response)
        self.content_type_nosniff = False
        self.referrer_policy = self.cross_origin_opener_policy = None


def response_headers(path: str) -> ResponseHeaders:
    """Return the default headers of responses at `path`."""
    if path == EMBEDDED_PATH:
        return _EMBEDDED_HEADERS
    return _SWAGGER_UI_HEADERS if path == _SWAGGER_UI_PATH else _PAGE_HEADERS


def _format_policy(policy: Mapping[str, str]) -> str:
    return "; ".join(f"{directive} {sources}" for directive, sources in policy.items())


_PAGE_HEADERS: Final = ResponseHeaders({"Content-Security-Policy": _format_policy(_POLICY), **_HEADERS})
_EMBEDDED_HEADERS: Final = ResponseHeaders({**_PAGE_HEADERS, "Cross-Origin-Resource-Policy": "cross-origin"})
_SWAGGER_UI_HEADERS: Final = ResponseHeaders(
    {"Content-Security-Policy": _format_policy(_SWAGGER_UI), **_HEADERS}
)
#: The policy of a page whose form is answered with a redirect to another site, which may lead further.
REDIRECTING_POLICY: Final = _format_policy(
    {name: value for name, value in _POLICY.items() if name != "form-action"}
)
#: The policy of the admin's own pages, for those who may see them.
ADMIN_POLICY: Final = _format_policy(_ADMIN)


#: The setting of a workspace: the origins, separated by blanks.
ALLOWED_ORIGINS: Final = "allowed_origins"
_WORKSPACE = re.compile(r"/api/v1/workspaces/([^/]+)/")
_CLIENT_ENDPOINT = re.compile(r"/\.well-known/oauth-[^/]+(/mcp)?|/oauth/(register|token|revoke)")


class AllowOrigins(CorsMiddleware):
    """Middleware that answers requests with an `Origin` header; others pass untouched."""

    def __call__(self, request: HttpRequest) -> Any:
        """Answer a preflight request, or add the headers that let the script read the response."""
        if "HTTP_ORIGIN" not in request.META:
            return self.get_response(request)
        return super().__call__(request)


def allows_origin(request: HttpRequest, **_options: Any) -> bool:
    """Return whether the workspace of an API request allows the origin of its page, or OAuth any."""
    if _CLIENT_ENDPOINT.fullmatch(request.path_info):
        return True  # MCP clients that are pages; a client proves what it may by what it sends
    form = _WORKSPACE.match(request.path_info)
    if form is None or not (is_slug(form[1]) or parse_uuid(form[1])):
        return False
    with acting_everywhere():  # a preflight request has no credentials
        stored = Workspace.objects.by_slug_or_id(form[1]).values_list("settings", flat=True).first()
    allowed = ((stored or {}).get(ALLOWED_ORIGINS) or "").split()
    return "*" in allowed or request.META["HTTP_ORIGIN"] in allowed


check_request_enabled.connect(allows_origin)
