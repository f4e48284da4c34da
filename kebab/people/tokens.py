"""Minting and checking of API tokens: `kbb_<prefix>_<secret>`, 256 random bits, SHA-256 at rest."""

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone

from kebab.people.models import ApiToken, Scope, User, Workspace

_FORM = re.compile(r"\Akbb_([a-z2-7]{12})_([A-Za-z0-9_-]{43})\Z")
# A token in use writes its row at most this often.
_LAST_USE_STEP = timedelta(minutes=1)


def mint_token(
    workspace: Workspace,
    *,
    scopes: Iterable[Scope | str],
    name: str = "",
    expires_at: datetime | None = None,
    created_by: User | None = None,
) -> tuple[ApiToken, str]:
    """Give a new token and its secret form, which is shown once and can't be had again."""
    prefix = base64.b32encode(secrets.token_bytes(8)).decode().lower().rstrip("=")[:12]
    secret = secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        workspace=workspace,
        name=name,
        prefix=prefix,
        secret_sha256=hashlib.sha256(secret.encode()).digest(),
        scopes=sorted({Scope(scope).value for scope in scopes}),
        expires_at=expires_at,
        created_by=created_by,
    )
    return token, f"kbb_{prefix}_{secret}"


def verify_token(presented: str) -> ApiToken | None:
    """Give the usable token that `presented` is the secret of, its workspace loaded; else None."""
    form = _FORM.match(presented)
    if form is None:
        return None
    prefix, secret = form.groups()
    token = ApiToken.objects.select_related("workspace").filter(prefix=prefix).first()
    digest = hashlib.sha256(secret.encode()).digest()
    if token is None or not hmac.compare_digest(bytes(token.secret_sha256), digest) or not token.is_usable:
        return None
    _note_use(token)
    return token


def _note_use(token: ApiToken) -> None:
    now = timezone.now()
    if token.last_used_at is not None and now - token.last_used_at < _LAST_USE_STEP:
        return
    stale = Q(last_used_at=None) | Q(last_used_at__lt=now - _LAST_USE_STEP)
    ApiToken.objects.filter(stale, id=token.id).update(last_used_at=now)
