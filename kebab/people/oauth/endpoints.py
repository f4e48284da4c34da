"""The endpoints that clients call: metadata, registration, tokens and revocation. No cookie counts here."""

import json
from collections.abc import Mapping
from typing import Any, Final

from authlib.oauth2 import OAuth2Error
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path, reverse
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt
from rest_framework import serializers

from kebab.errors import RateLimited
from kebab.http.api.serializers import ShortListField
from kebab.http.rate_limits.client_address import client_network
from kebab.http.rate_limits.rules import count, count_bad_token, parse_limit
from kebab.http.site_address import site_address
from kebab.identity.models.oauth import MAX_REDIRECT_URIS, MAX_URI_CHARS
from kebab.people.oauth.clients import check_redirect_uri, register_client
from kebab.people.oauth.server import GRANT_TYPES, SCOPES, AuthorizationServer, has_unsafe_text, mcp_resource
from kebab.people.pages.consent import ConsentPage

# Of a description of what is wrong.
_MAX_DETAIL_CHARS: Final = 1_000
#: Of a client without a secret, which PKCE protects.
_PUBLIC: Final[Mapping[str, Any]] = {
    "grant_types": list(GRANT_TYPES),
    "response_types": ["code"],
    "token_endpoint_auth_method": "none",
}


@method_decorator(csrf_exempt, name="dispatch")
class Endpoint(View):
    """A POST of a client, answered in JSON, also when a limit refuses it."""

    http_method_names = ("post",)

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Answer the request."""
        try:
            return super().dispatch(request, *args, **kwargs)  # type: ignore[return-value]  # none is streamed
        except RateLimited as error:
            refused = _refuse("temporarily_unavailable", error.detail, status=429)
            refused["Retry-After"] = str(error.retry_after_s)
            return refused
        except OAuth2Error as error:  # before Authlib answers itself: the request isn't encrypted
            return _refuse(str(error.error), str(error.description), status=400)


class Registration(Endpoint):
    """Registers a client, whoever asks (RFC 7591)."""

    def post(self, request: HttpRequest) -> HttpResponse:
        """Return the new client's id. Raises RateLimited."""
        limit = parse_limit(settings.KEBAB_CLIENT_LIMIT)
        message = "Too many clients were registered from this address."
        count(limit, "oauth-clients", client_network(request), message=message)
        form = _Metadata(data=_read_json(request.body))
        if not form.is_valid():
            code = "invalid_redirect_uri" if "redirect_uris" in form.errors else "invalid_client_metadata"
            return _refuse(code, json.dumps(form.errors)[:_MAX_DETAIL_CHARS], status=400)
        client = register_client(form.validated_data["client_name"], form.validated_data["redirect_uris"])
        registered = {
            "client_id": str(client.pk),
            "client_id_issued_at": int(client.registered_at.timestamp()),
            "client_name": client.name,
            "redirect_uris": client.redirect_uris,
            "scope": " ".join(SCOPES),
        }
        return JsonResponse({**registered, **_PUBLIC}, status=201)


class TokenEndpoint(Endpoint):
    """Exchanges codes and refresh tokens for access tokens (RFC 6749, 3.2)."""

    def post(self, request: HttpRequest) -> HttpResponse:
        """Return the response; what a refused request revokes stays revoked. Raises RateLimited."""
        if has_unsafe_text(request):
            return _refuse("invalid_request", "A parameter has characters that none may have.", status=400)
        with transaction.atomic():
            response = self.answer(AuthorizationServer(), request)
        if response.status_code >= 400:
            count_bad_token(request)
        return response

    def answer(self, server: AuthorizationServer, request: HttpRequest) -> HttpResponse:
        """Return Authlib's response."""
        return server.create_token_response(request)  # type: ignore[no-any-return]  # Authlib has no types


class Revocation(TokenEndpoint):
    """Ends the connection of an access or refresh token (RFC 7009)."""

    def answer(self, server: AuthorizationServer, request: HttpRequest) -> HttpResponse:
        """Return Authlib's response."""
        return server.create_endpoint_response("revocation", request)  # type: ignore[no-any-return]  # as above


def describe_resource(request: HttpRequest) -> HttpResponse:
    """Return the metadata of MCP as a protected resource (RFC 9728)."""
    return JsonResponse(
        {
            "resource": mcp_resource(request),
            "resource_name": "Kebab",
            "authorization_servers": [site_address(request)],
            "scopes_supported": list(SCOPES),
            "bearer_methods_supported": ["header"],
        }
    )


def describe_server(request: HttpRequest) -> HttpResponse:
    """Return the metadata of the authorization server (RFC 8414)."""
    site = site_address(request)
    endpoints = {
        f"{name}_endpoint": site + reverse(f"oauth-{name}")
        for name in ("authorization", "token", "registration", "revocation")
    }
    return JsonResponse(
        {
            "issuer": site,
            **endpoints,
            "scopes_supported": list(SCOPES),
            "response_types_supported": ["code"],
            "grant_types_supported": list(GRANT_TYPES),
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
        }
    )


def _check_uri(uri: str) -> None:
    try:
        check_redirect_uri(uri)
    except ValueError as error:
        raise serializers.ValidationError(str(error)) from error


class _Metadata(serializers.Serializer):  # type: ignore[type-arg]  # the class itself is not generic
    """The kept part of a client's metadata; the response says what the rest is instead."""

    client_name = serializers.CharField(max_length=200, required=False, allow_blank=True, default="")
    redirect_uris = ShortListField(
        child=serializers.CharField(max_length=MAX_URI_CHARS, validators=[_check_uri]),
        min_length=1,
        max_length=MAX_REDIRECT_URIS,
    )


def _read_json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _refuse(code: str, detail: str, *, status: int) -> HttpResponse:
    return JsonResponse({"error": code, "error_description": detail}, status=status)


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
