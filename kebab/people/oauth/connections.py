"""Connections: a person's consent, its code, and the tokens that the client gets for it."""

import secrets
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.db import transaction
from django.utils import timezone

from kebab.identity.models import OAuthClient, OAuthGrant, PersonalToken, TokenScope, User
from kebab.identity.tokens import find_token, renew_secret, sha256
from kebab.people.token_lifecycle import end_personal_token, issue_personal_token

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
