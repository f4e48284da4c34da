"""What every response tells browsers: what they may load, run, frame and keep."""

from collections.abc import Callable, Mapping
from typing import Final

from django.http import HttpRequest
from django.http.response import HttpResponseBase

_POLICY: Final[Mapping[str, str]] = {
    "default-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
    "object-src": "'none'",
}
# Swagger UI writes style elements, and its icons are data addresses; its scripts are files like ours.
_SWAGGER_UI: Final[Mapping[str, str]] = {
    **_POLICY,
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data:",
}
_SWAGGER_UI_PATH: Final = "/api/docs/"
# The admin's Alpine compiles the expressions of its attributes, and sets style attributes; style elements
# and scripts in the page are refused there too.
_ADMIN: Final[Mapping[str, str]] = {
    **_POLICY,
    "script-src": "'self' 'unsafe-eval'",
    "style-src": "'self'",
    "style-src-attr": "'unsafe-inline'",
}
_UNUSED: Final = ("camera", "display-capture", "geolocation", "microphone", "payment", "usb")
# On every response that says nothing else itself; static files say how long they may be kept.
_HEADERS: Final[Mapping[str, str]] = {
    "Permissions-Policy": ", ".join(f"{feature}=()" for feature in _UNUSED),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "private, no-store",
}


class SecurityHeaders:
    """Middleware; it must stand before whatever may answer with a page of its own."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer, with the policy of the address; what a view has set is stricter, and stays."""
        response = self._get_response(request)
        for name, value in response_headers(request.path).items():
            response.headers.setdefault(name, value)
        return response


def response_headers(path: str) -> dict[str, str]:
    """Return what a response at an address says where it says nothing else itself."""
    policy = _SWAGGER_UI if path == _SWAGGER_UI_PATH else _POLICY
    return {"Content-Security-Policy": _written(policy), **_HEADERS}


def _written(policy: Mapping[str, str]) -> str:
    return "; ".join(f"{directive} {sources}" for directive, sources in policy.items())


#: What the admin's own pages say, to those who may see them.
ADMIN_POLICY: Final = _written(_ADMIN)
