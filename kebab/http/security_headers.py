"""Security headers of every response: content security policy, framing, caching."""

from collections.abc import Mapping
from typing import Final

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from kebab.middleware import Middleware

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
        for name, value in response_headers(request.path).items():
            if name not in response.headers:
                response.headers[name] = value
        return response


def response_headers(path: str) -> Mapping[str, str]:
    """Return the default headers of responses at `path`."""
    if path == EMBEDDED_PATH:
        return _EMBEDDED_HEADERS
    return _SWAGGER_UI_HEADERS if path == _SWAGGER_UI_PATH else _PAGE_HEADERS


def _format_policy(policy: Mapping[str, str]) -> str:
    return "; ".join(f"{directive} {sources}" for directive, sources in policy.items())


_PAGE_HEADERS: Final = {"Content-Security-Policy": _format_policy(_POLICY), **_HEADERS}
_EMBEDDED_HEADERS: Final = {**_PAGE_HEADERS, "Cross-Origin-Resource-Policy": "cross-origin"}
_SWAGGER_UI_HEADERS: Final = {"Content-Security-Policy": _format_policy(_SWAGGER_UI), **_HEADERS}
#: The policy of a page whose form is answered with a redirect to another site, which may lead further.
REDIRECTING_POLICY: Final = _format_policy(
    {name: value for name, value in _POLICY.items() if name != "form-action"}
)
#: The policy of the admin's own pages, for those who may see them.
ADMIN_POLICY: Final = _format_policy(_ADMIN)
