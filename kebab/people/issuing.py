"""Gives out tokens, and replaces one by a new one with time for whoever uses it to take that up."""

import uuid
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from kebab.http.api.errors import Conflict, NotFound
from kebab.people import audit
from kebab.people.access.caller import Access
from kebab.people.groups import groups_of
from kebab.people.models import ApiToken, Group, Scope
from kebab.people.revocation import revoke_token
from kebab.people.tokens import mint_token

#: The longest that a token which was replaced still works.
MAX_OVERLAP = timedelta(days=1)
AT_ONCE = timedelta()


def issue_token(
    access: Access,
    *,
    scopes: Iterable[Scope | str],
    name: str = "",
    groups: Collection[uuid.UUID] = (),
    expires_at: datetime | None = None,
) -> tuple[ApiToken, str]:
    """Return a new token and its secret form. Raises Unprocessable for groups that aren't there."""
    with transaction.atomic():
        named = groups_of(access.workspace, groups)
        token, secret = mint_token(
            access.workspace,
            scopes=scopes,
            name=name,
            groups=named,
            expires_at=expires_at,
            created_by=access.user,
        )
        audit.record(access, "token.created", _subject(token), scopes=token.scopes, groups=_names(named))
    return token, secret


def take_back(access: Access, token: ApiToken) -> bool:
    """Make `token` useless, at once and for good; give whether it was not revoked before."""
    with transaction.atomic():
        was_good = revoke_token(token)
        if was_good:
            audit.record(access, "token.revoked", _subject(token))
    return was_good


def rotate_token(access: Access, token_id: uuid.UUID, overlap: timedelta = AT_ONCE) -> tuple[ApiToken, str]:
    """Return a new token with name, scopes, groups and expiry of an old one, which works for `overlap` more.

    Without an overlap the old one ends at once. Raises NotFound, Conflict for a token that doesn't work any
    more, and for one that ends within `MAX_OVERLAP`, as one does that was replaced: so would the new one.
    """
    with transaction.atomic():
        old = access.workspace.tokens.select_for_update().filter(pk=token_id).first()
        if old is None:
            raise NotFound
        if not old.is_usable:
            raise Conflict("This token is expired or revoked; make a new one.", code="token_unusable")
        if old.expires_at is not None and old.expires_at <= timezone.now() + MAX_OVERLAP:
            raise Conflict(
                "This token ends within a day, and one like it would too: make a new one, or replace the one"
                " that has replaced it.",
                code="token_ends_soon",
            )
        token, secret = _like(access, old)
        ends_at = _end(old, overlap)
        minutes = int(overlap.total_seconds() // 60)
        facts = {"replaced_by": _subject(token), "overlap_minutes": minutes, "ends_at": ends_at.isoformat()}
        audit.record(access, "token.rotated", _subject(old), **facts)
    return token, secret


def _like(access: Access, old: ApiToken) -> tuple[ApiToken, str]:
    groups = access.workspace.groups.filter(tokens__token=old).values_list("pk", flat=True)
    return mint_token(
        access.workspace,
        scopes=old.scopes,
        name=old.name,
        groups=groups_of(access.workspace, list(groups)),
        expires_at=old.expires_at,
        created_by=access.user,
    )


def _end(token: ApiToken, overlap: timedelta) -> datetime:
    """End the token after `overlap`, and say when that is."""
    now = timezone.now()
    if overlap <= AT_ONCE:
        revoke_token(token)
        return now
    token.expires_at = now + overlap
    token.save(update_fields=["expires_at"])
    return token.expires_at


def _subject(token: ApiToken) -> str:
    return f"kbb_{token.prefix}"


def _names(groups: Iterable[Group]) -> list[str]:
    return sorted(group.name for group in groups)
