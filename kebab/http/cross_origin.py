"""Requests of scripts on pages of other sites, which a workspace may allow by their origin.

They carry a token: cookies are never allowed (https://fetch.spec.whatwg.org/#http-cors-protocol).
"""

import re
from typing import Any, Final

from corsheaders.middleware import CorsMiddleware
from corsheaders.signals import check_request_enabled
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from kebab.people.models import Workspace
from kebab.people.models.workspace import is_slug
from kebab.people.workspace_settings.registry import Preference
from kebab.tenancy.current_workspace import acting_everywhere
from kebab.uuids import parse_uuid

#: The setting of a workspace: the origins, separated by blanks.
ALLOWED_ORIGINS: Final = "allowed_origins"
MAX_ORIGINS: Final = 50
_WORKSPACE = re.compile(r"/api/v1/workspaces/([^/]+)/")
_CLIENT_ENDPOINT = re.compile(r"/\.well-known/oauth-[^/]+(/mcp)?|/oauth/(register|token|revoke)")
_ORIGIN = re.compile(r"https?://[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]{1,5})?", re.ASCII)


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


def clean_origins(value: Any) -> str:
    """Return origins separated by blanks, each once. Raises ValueError, naming the one that is none."""
    origins = list(dict.fromkeys(value.split())) if isinstance(value, str) else [value]
    for origin in origins:
        if not isinstance(origin, str) or (origin != "*" and _ORIGIN.fullmatch(origin) is None):
            raise ValueError(f"{origin!r} is not an origin; write https://docs.example.com, or * for any.")
    if len(origins) > MAX_ORIGINS:
        raise ValueError(f"There are {len(origins)} origins; give {MAX_ORIGINS} at most.")
    return " ".join(origins)


PREFERENCE = Preference(
    name=ALLOWED_ORIGINS,
    default="",
    validate=clean_origins,
    label=_("Other sites"),
    about=_("Whose pages may use tokens: https://docs.example.com, separated by blanks. * allows any."),
    section="general",
)
