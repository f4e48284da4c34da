"""The Content-Security-Policy of every response: nothing from elsewhere, nothing inline, no framing."""

from collections.abc import Callable, Mapping

from django.http import HttpRequest
from django.http.response import HttpResponseBase

_POLICY: Mapping[str, str] = {
    "default-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
    "object-src": "'none'",
}
# Swagger UI writes style elements, and its icons are data addresses; its scripts are files like ours.
_SWAGGER_UI: Mapping[str, str] = {
    **_POLICY,
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data:",
}
_SWAGGER_UI_PATH = "/api/docs/"


class ContentSecurityPolicy:
    """Middleware; it must stand before whatever may answer with a page of its own."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer, with the policy of the address; a view that has set a stricter one keeps it."""
        response = self._get_response(request)
        policy = _SWAGGER_UI if request.path == _SWAGGER_UI_PATH else _POLICY
        response.headers.setdefault(
            "Content-Security-Policy",
            "; ".join(f"{directive} {sources}" for directive, sources in policy.items()),
        )
        return response
