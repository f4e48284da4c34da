"""The authorization server: Authlib's grants over our clients, consents and tokens.

Authlib checks requests in the order of the RFCs and writes responses; `connections` keeps the rest.
"""

import secrets
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from authlib.common.urls import add_params_to_uri
from authlib.integrations.django_oauth2 import AuthorizationServer as DjangoAuthorizationServer
from authlib.integrations.django_oauth2 import RevocationEndpoint
from authlib.oauth2 import OAuth2Error
from authlib.oauth2.base import invalid_error_characters
from authlib.oauth2.rfc6749 import ClientMixin, InvalidClientError, InvalidRequestError
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant, RefreshTokenGrant
from authlib.oauth2.rfc7636 import CodeChallenge
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from kebab.http.site_address import site_address
from kebab.identity.models import OAuthClient, OAuthGrant, PersonalToken, TokenScope, User
from kebab.identity.tokens import find_token, renew_secret, sha256
from kebab.people.oauth.clients import is_same_redirect
from kebab.people.token_lifecycle import end_personal_token, issue_personal_token
from kebab.uuids import parse_uuid

#: What a client may be given: the tools of MCP need no more.
SCOPES: Final = (TokenScope.SEARCH, TokenScope.ASK)
CODE_LIFE: Final = timedelta(minutes=2)
ACCESS_LIFE: Final = timedelta(hours=1)
#: Each refresh begins it anew.
REFRESH_LIFE: Final = timedelta(days=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """A person's decision to connect a client."""

    user: User
    workspace_ids: Sequence[uuid.UUID]


def issue_code(
    client: OAuthClient, consent: Consent, *, scopes: Sequence[str], resource: str, **bound_to: str
) -> str:
    """Return a code for a consent. `bound_to` are its redirect URI and code challenge.

    The person's token exists from now on, but nobody knows its secret before the exchange.
    """
    now = timezone.now()
    code = secrets.token_urlsafe(32)
    with transaction.atomic():
        token, _ = issue_personal_token(
            consent.user,
            scopes=scopes,
            name=client.name,
            expires_at=now,
            client=client,
            workspace_ids=list(consent.workspace_ids),
            resource=resource,
        )
        token.grants.create(sha256=sha256(code), expires_at=now + CODE_LIFE, **bound_to)
        OAuthClient.objects.filter(pk=client.pk).update(active_at=now)
    return code


def redeem(client: OAuthClient, secret: str, *, is_code: bool) -> OAuthGrant | None:
    """Return the client's grant with this secret, locked until the transaction ends; None for any other.

    A grant that was used before has been stolen, or the one that used it has: it ends the connection.
    """
    grants = OAuthGrant.objects.select_for_update(of=("self", "token")).select_related("token__user")
    found = grants.filter(sha256=sha256(secret), token__client=client).first()
    if found is None or found.token.revoked_at is not None or bool(found.code_challenge) is not is_code:
        return None
    if found.used_at is not None:
        end_personal_token(found.token, client=client.name, reason="reused")
        return None
    return found if found.expires_at > timezone.now() and found.token.user.is_active else None


def exchange(grant: OAuthGrant) -> dict[str, Any]:
    """Use a grant up, and return the token response: a new access token, and the next refresh token."""
    now = timezone.now()
    refresh = secrets.token_urlsafe(32)
    grant.used_at = now
    grant.save(update_fields=["used_at"])
    grant.token.grants.create(sha256=sha256(refresh), expires_at=now + REFRESH_LIFE)
    return {
        "token_type": "Bearer",
        "access_token": renew_secret(grant.token, now + ACCESS_LIFE),
        "expires_in": int(ACCESS_LIFE.total_seconds()),
        "refresh_token": refresh,
        "scope": " ".join(grant.token.scopes),
    }


def find_connection(secret: str) -> PersonalToken | None:
    """Return the token of a client with this access or refresh token."""
    token = find_token(secret)
    if token is None:
        grant = OAuthGrant.objects.select_related("token__user").filter(sha256=sha256(secret)).first()
        return None if grant is None or grant.code_challenge else grant.token
    return token if isinstance(token, PersonalToken) and token.client_id is not None else None


GRANT_TYPES: Final = ("authorization_code", "refresh_token")
#: The address of the metadata of `/mcp`.
METADATA_PATH: Final = "/.well-known/oauth-protected-resource/mcp"
_METHOD: Final = "S256"


def mcp_resource(request: HttpRequest) -> str:
    """Return the address that access tokens are for. Raises DisallowedHost like `site_address`."""
    return f"{site_address(request)}/mcp"


def requested_site(request: HttpRequest) -> str:
    """Return the site's address as the client of this very request writes it, whatever its port."""
    return str(settings.KEBAB_URL or request.build_absolute_uri("/").rstrip("/"))


def requested_resource(request: HttpRequest) -> str:
    """Return the address of MCP as the client of this very request writes it."""
    return f"{requested_site(request)}/mcp"


def has_unsafe_text(request: HttpRequest) -> bool:
    """Return whether a parameter but `state` has characters that Authlib can't quote in an error."""
    values = [
        value
        for given in (request.GET, request.POST)
        for name, each in given.lists()
        if name != "state"
        for value in each
    ]
    return any(invalid_error_characters(value) for value in values)


class InvalidTargetError(OAuth2Error):
    """The client wants a token for another server (RFC 8707)."""

    error = "invalid_target"


class _Client(ClientMixin):
    """A registered client as Authlib asks about it; all are public."""

    def __init__(self, row: OAuthClient) -> None:
        self.row = row

    def get_client_id(self) -> str:
        return str(self.row.pk)

    def get_default_redirect_uri(self) -> None:
        return None  # each request names its own

    def get_allowed_scope(self, scope: str | None) -> str | None:
        asked = set((scope or "").split()) or set(SCOPES)
        return " ".join(each for each in SCOPES if each in asked) or None

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return any(is_same_redirect(each, redirect_uri) for each in self.row.redirect_uris)

    def check_client_secret(self, client_secret: str) -> bool:
        return False

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == "none"

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type in GRANT_TYPES


class _Redeemed:
    """A grant as Authlib asks about it, between its check and its exchange."""

    code_challenge_method = _METHOD

    def __init__(self, grant: OAuthGrant) -> None:
        self.grant = grant
        self.code_challenge = grant.code_challenge

    def get_redirect_uri(self) -> str:
        return self.grant.redirect_uri

    def get_scope(self) -> str:
        return " ".join(self.grant.token.scopes)

    def check_client(self, client: _Client) -> bool:
        return self.grant.token.client_id == client.row.pk


class _Connection:
    """A token as the revocation endpoint asks about it."""

    def __init__(self, token: PersonalToken) -> None:
        self.token = token

    def check_client(self, client: _Client) -> bool:
        return self.token.client_id == client.row.pk


class _Exchange:
    """The common part of both grants: the person behind one, and the response to its exchange."""

    TOKEN_ENDPOINT_AUTH_METHODS: Final = ("none",)
    request: Any
    server: "AuthorizationServer"

    def authenticate_user(self, redeemed: _Redeemed) -> User:
        self.server.check_resource(self.request, redeemed.grant.token.resource)
        return redeemed.grant.token.user

    def generate_token(self, **_options: Any) -> dict[str, Any]:
        redeemed = getattr(self.request, "authorization_code", None) or self.request.refresh_token
        return exchange(redeemed.grant)


class _CodeGrant(_Exchange, AuthorizationCodeGrant):
    def validate_authorization_request(self) -> str:
        redirect_uri: str = super().validate_authorization_request()
        self.server.check_resource(self.request, self.server.resource_of(self.request), redirect_uri)
        return redirect_uri

    @staticmethod
    def validate_authorization_redirect_uri(request: Any, client: _Client) -> str:
        given: str = request.payload.redirect_uri or ""
        if not client.check_redirect_uri(given):
            raise InvalidRequestError("The client has not registered this redirect_uri.")
        return given

    def save_authorization_code(self, code: str, request: Any) -> None:
        """Do nothing: `generate_authorization_code` has stored it."""

    def generate_authorization_code(self) -> str:
        request, consent = self.request, self.request.user
        assert isinstance(consent, Consent)  # noqa: S101  # the consent page gives no other
        return issue_code(
            request.client.row,
            consent,
            scopes=request.scope.split(),
            resource=self.server.resource_of(request),
            redirect_uri=request.payload.redirect_uri,
            code_challenge=request.payload.data["code_challenge"],
        )

    def query_authorization_code(self, code: str, client: _Client) -> _Redeemed | None:
        found = redeem(client.row, code, is_code=True)
        return None if found is None else _Redeemed(found)

    def delete_authorization_code(self, authorization_code: _Redeemed) -> None:
        """Do nothing: the exchange has used it up."""


class _RefreshGrant(_Exchange, RefreshTokenGrant):
    INCLUDE_NEW_REFRESH_TOKEN: Final = True

    def authenticate_refresh_token(self, refresh_token: str) -> _Redeemed | None:
        client = self.request.client
        found = redeem(client.row, refresh_token, is_code=False)
        return None if found is None else _Redeemed(found)

    def revoke_old_credential(self, refresh_token: _Redeemed) -> None:
        """Do nothing: the exchange has used it up."""


class _RequiredChallenge(CodeChallenge):
    SUPPORTED_CODE_CHALLENGE_METHOD: Final = (_METHOD,)

    def validate_code_challenge(self, grant: Any, redirect_uri: str) -> None:
        data = grant.request.payload.data
        if not data.get("code_challenge") or data.get("code_challenge_method") != _METHOD:
            raise InvalidRequestError("Send code_challenge, and code_challenge_method=S256.")
        super().validate_code_challenge(grant, redirect_uri)


class _Revocation(RevocationEndpoint):
    CLIENT_AUTH_METHODS: Final = ("none",)

    def query_token(self, token: str, token_type_hint: str | None) -> _Connection | None:
        found = find_connection(token)
        return None if found is None else _Connection(found)

    def revoke_token(self, token: _Connection, request: Any) -> None:
        if token.token.revoked_at is None:
            end_personal_token(token.token, client=request.client.row.name, reason="client")


class AuthorizationServer(DjangoAuthorizationServer):
    """Authlib's server for Django, with our tables."""

    def __init__(self) -> None:
        super().__init__(OAuthClient, PersonalToken)
        self.register_grant(_CodeGrant, [_RequiredChallenge()])
        self.register_grant(_RefreshGrant)
        self.register_endpoint(_Revocation)

    def query_client(self, client_id: str) -> _Client | None:
        """Return the client with this id."""
        key = parse_uuid(client_id)
        row = None if key is None else OAuthClient.objects.filter(pk=key).first()
        return None if row is None else _Client(row)

    def save_token(self, token: dict[str, Any], request: Any) -> None:
        """Do nothing: the exchange has stored it."""

    def handle_response(self, status_code: int, payload: Any, headers: Any) -> HttpResponse:
        """Return the response; a forgotten client is told by 401 to register again, as Claude expects."""
        is_unknown = isinstance(payload, dict) and payload.get("error") == InvalidClientError.error
        response: HttpResponse = super().handle_response(401 if is_unknown else status_code, payload, headers)
        return response

    def resource_of(self, request: Any) -> str:
        """Return the address of MCP for one of Authlib's requests."""
        return mcp_resource(request._request)

    def check_resource(self, request: Any, ours: str, redirect_uri: str | None = None) -> None:
        """Raise InvalidTargetError if the client names another resource; naming none means ours."""
        named: Sequence[str] = request.payload.datalist.get("resource", [])
        if any(each.rstrip("/") != ours for each in named):
            raise InvalidTargetError(f"There is no other resource than {ours}", redirect_uri=redirect_uri)


def name_issuer(response: HttpResponse, request: HttpRequest) -> HttpResponse:
    """Add the issuer to the address of a redirect to a client (RFC 9207)."""
    if "Location" in response:
        response["Location"] = add_params_to_uri(response["Location"], [("iss", site_address(request))])
    return response
