"""URLs of the authorization server and of its metadata."""

from django.urls import path

from kebab.people.oauth.endpoints import (
    Registration,
    Revocation,
    TokenEndpoint,
    describe_resource,
    describe_server,
)
from kebab.people.pages.consent import ConsentPage

_KNOWN = ".well-known/oauth"

urlpatterns = [
    path(f"{_KNOWN}-protected-resource", describe_resource, name="oauth-resource"),
    path(f"{_KNOWN}-protected-resource/mcp", describe_resource, name="oauth-resource-mcp"),
    path(f"{_KNOWN}-authorization-server", describe_server, name="oauth-server"),
    path("oauth/authorize", ConsentPage.as_view(), name="oauth-authorization"),
    path("oauth/register", Registration.as_view(), name="oauth-registration"),
    path("oauth/token", TokenEndpoint.as_view(), name="oauth-token"),
    path("oauth/revoke", Revocation.as_view(), name="oauth-revocation"),
]
