"""Requests of scripts on pages of other sites, which a workspace may allow by their origin.

They carry a token: cookies are never allowed (https://fetch.spec.whatwg.org/#http-cors-protocol).
"""

import re
from typing import Any, Final

from corsheaders.middleware import CorsMiddleware
from corsheaders.signals import check_request_enabled
from django.http import HttpRequest

from kebab.identity.models import Workspace
from kebab.identity.models.workspace import is_slug
from kebab.tenancy.current_workspace import acting_everywhere
from kebab.uuids import parse_uuid

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
