"""Creation, revocation and rotation of tokens, with audit events; a rotated token may work on for a while."""

import uuid
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from django.db import transaction
from django.utils import timezone

from kebab.database.querysets import first_or_not_found
from kebab.errors import Conflict, Forbidden, Unprocessable
from kebab.identity.caller import Access
from kebab.identity.models import ApiToken, Membership, PersonalToken, Role, TokenScope, User
from kebab.identity.models.token import Token
from kebab.identity.tokens import mint_personal_token, mint_token
from kebab.people import audit
from kebab.people.groups import lock_groups

#: The longest time that a rotated token still works.
MAX_OVERLAP = timedelta(days=1)
AT_ONCE = timedelta()


def issue_token(
    access: Access,
    *,
    scopes: Iterable[TokenScope | str],
    name: str = "",
    groups: Collection[uuid.UUID] = (),
    filters: Mapping[str, Any] = MappingProxyType({}),
    expires_at: datetime | None = None,
) -> tuple[ApiToken, str]:
    """Create a token; return it and its secret form. Raises Unprocessable for groups that don't exist.

    With `filters` it may only search, narrowed by them.
    """
    with transaction.atomic():
        named = lock_groups(access.workspace.pk, groups)
        token, secret = mint_token(
            access.workspace,
            scopes=scopes,
            name=name,
            groups=named,
            filters=filters,
            expires_at=expires_at,
            created_by=access.user,
        )
        audit.record(
            access,
            "token.created",
            _subject(token),
            scopes=token.scopes,
            groups=sorted(group.name for group in named),
            **({"filters": token.filters} if token.filters else {}),
        )
    return token, secret


def issue_personal_token(
    user: User,
    *,
    scopes: Iterable[TokenScope | str],
    name: str = "",
    expires_at: datetime | None = None,
    **binding: Any,
) -> tuple[PersonalToken, str]:
    """Create a token that acts for a person; return it and its secret form. See `mint_personal_token`."""
    with transaction.atomic():
        token, secret = mint_personal_token(user, scopes=scopes, name=name, expires_at=expires_at, **binding)
        bound: dict[str, Any] = {} if token.client is None else {"client": token.client.name}
        audit.record_person(user.email, "token.created", _subject(token), scopes=token.scopes, **bound)
    return token, secret


def issue_administration_token(
    access: Access, *, owner: str, scopes: Iterable[str], **options: Any
) -> tuple[PersonalToken, str]:
    """Create a token that acts for an owner of the workspace in it alone; return it and its secret form.

    Raises Forbidden for all but operators, and Unprocessable if no owner has that address.
    """
    if access.caller.operator is None:
        raise Forbidden("An owner creates a token with the scope administer on their profile page.")
    owners = Membership.objects.filter(workspace=access.workspace, role=Role.OWNER, user__is_active=True)
    membership = owners.filter(user__in=User.objects.with_address(owner)).select_related("user").first()
    if membership is None:
        raise Unprocessable(
            f"{owner!r} is not the address of an owner of this workspace.", code="user_unknown"
        )
    with transaction.atomic():
        token, secret = mint_personal_token(
            membership.user, scopes=scopes, workspace_ids=[access.workspace.pk], **options
        )
        audit.record(access, "token.created", _subject(token), scopes=token.scopes, owner=token.user.email)
    return token, secret


def revoke_personal_token(user: User, token_id: uuid.UUID) -> None:
    """Revoke a person's own token. Raises NotFound."""
    with transaction.atomic():
        token = first_or_not_found(user.personal_tokens.select_for_update().filter(pk=token_id))
        if token.revoked_at is None:
            end_personal_token(token)


def end_personal_token(token: PersonalToken, **detail: Any) -> None:
    """Revoke a token that isn't revoked; `detail` says why, if the person didn't."""
    token.revoked_at = timezone.now()
    token.save(update_fields=["revoked_at"])
    audit.record_person(token.user.email, "token.revoked", _subject(token), **detail)


def revoke_token(access: Access, token: ApiToken) -> bool:
    """Revoke `token` at once and for good; return whether it wasn't revoked before."""
    with transaction.atomic():
        was_good = mark_revoked(token)
        if was_good:
            audit.record(access, "token.revoked", _subject(token))
    return was_good


def rotate_token(access: Access, token_id: uuid.UUID, overlap: timedelta = AT_ONCE) -> tuple[ApiToken, str]:
    """Create a token with name, scopes, groups and expiry of an old one, which works for `overlap` longer.

    Without an overlap the old one ends at once. Raises NotFound, and Conflict for a token that no longer
    works or that expires within `MAX_OVERLAP`, as a rotated one does: the new token would expire too.
    """
    with transaction.atomic():
        old = first_or_not_found(access.workspace.tokens.select_for_update().filter(pk=token_id))
        if not old.is_usable:
            raise Conflict("This token is expired or revoked; make a new one.", code="token_unusable")
        if old.expires_at is not None and old.expires_at <= timezone.now() + MAX_OVERLAP:
            raise Conflict(
                "This token ends within a day, and one like it would too: make a new one, or replace the one"
                " that has replaced it.",
                code="token_ends_soon",
            )
        token, secret = _mint_copy(access, old)
        ends_at = _expire(old, overlap)
        minutes = int(overlap.total_seconds() // 60)
        facts = {"replaced_by": _subject(token), "overlap_minutes": minutes, "ends_at": ends_at.isoformat()}
        audit.record(access, "token.rotated", _subject(old), **facts)
    return token, secret


def mark_revoked(token: ApiToken) -> bool:
    """Mark `token` as revoked, without an audit event; return whether it wasn't before."""
    updated = ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now())
    return updated == 1


def _mint_copy(access: Access, old: ApiToken) -> tuple[ApiToken, str]:
    groups = access.workspace.groups.filter(tokens__token=old).values_list("pk", flat=True)
    return mint_token(
        access.workspace,
        scopes=old.scopes,
        name=old.name,
        groups=lock_groups(access.workspace.pk, list(groups)),
        filters=old.filters,
        expires_at=old.expires_at,
        created_by=access.user,
    )


def _expire(token: ApiToken, overlap: timedelta) -> datetime:
    """Let the token expire after `overlap`; return that time."""
    now = timezone.now()
    if overlap <= AT_ONCE:
        mark_revoked(token)
        return now
    token.expires_at = now + overlap
    token.save(update_fields=["expires_at"])
    return token.expires_at


def _subject(token: Token) -> str:
    return f"{token.kind}_{token.prefix}"
