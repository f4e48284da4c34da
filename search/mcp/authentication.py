"""Authentication over HTTP: tokens as at the API, and those of OAuth clients, which are for MCP alone."""

from typing import Any

from kebab.http.api.authentication import TokenAuthentication
from kebab.people.oauth.server import METADATA_PATH, SCOPES, requested_resource, requested_site


class McpAuthentication(TokenAuthentication):
    """Authentication by a bearer token, which tells a client without one how to get it."""

    def resource_of(self, request: Any) -> str:
        """Return the address of MCP, which the tokens of OAuth clients are bound to."""
        return requested_resource(request)

    def authenticate_header(self, request: Any) -> str:
        """Return the challenge, with the address of the metadata (RFC 9728, 5.1)."""
        site = requested_site(request)
        challenge = super().authenticate_header(request)
        return f'{challenge}, resource_metadata="{site}{METADATA_PATH}", scope="{" ".join(SCOPES)}"'
