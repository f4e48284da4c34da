"""API tokens: `kbb_<prefix>_<secret>` with 256 random bits, stored as SHA-256."""

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from functools import cache
from types import MappingProxyType
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db import transaction
from django.db.models import OuterRef, Q, QuerySet, TextField
from django.utils import timezone

from kebab.database.compiled_queries import CompiledQuery, Param, compile_queryset, load_instance
from kebab.people.models import ApiToken, Group, TokenGroup, TokenScope, User, Workspace
from kebab.tenancy.current_workspace import acting_everywhere, acting_in

_FORM = re.compile(r"\Akbb_([a-z2-7]{12})_([A-Za-z0-9_-]{43})\Z")
# A token's last use is written at most this often.
_LAST_USE_STEP = timedelta(minutes=1)
_TOKEN_FIELDS, _WORKSPACE_FIELDS = (
    tuple(field.name for field in model._meta.concrete_fields) for model in (ApiToken, Workspace)
)


def mint_token(
    workspace: Workspace,
    *,
    scopes: Iterable[TokenScope | str],
    name: str = "",
    groups: Collection[Group] = (),
    filters: Mapping[str, Any] = MappingProxyType({}),
    expires_at: datetime | None = None,
    created_by: User | None = None,
) -> tuple[ApiToken, str]:
    """Create a token; return it and its secret form, which can't be recovered later.

    `groups` are groups of the workspace whose sources it may read; the token has their ids as `group_ids`.
    """
    prefix = base64.b32encode(secrets.token_bytes(8)).decode().lower().rstrip("=")[:12]
    secret = secrets.token_urlsafe(32)
    with transaction.atomic():
        token = ApiToken.objects.create(
            workspace=workspace,
            name=name,
            prefix=prefix,
            secret_sha256=hashlib.sha256(secret.encode()).digest(),
            scopes=sorted({TokenScope(scope).value for scope in scopes}),
            filters=dict(filters),
            expires_at=expires_at,
            created_by=created_by,
        )
        rows = [TokenGroup(workspace=workspace, group=group, token=token) for group in groups]
        TokenGroup.objects.bulk_create(rows)
    token.group_ids = sorted(group.pk for group in groups)
    return token, f"kbb_{prefix}_{secret}"


def verify_token(secret_form: str) -> ApiToken | None:
    """Return the usable token with this secret form, with its workspace and `group_ids`; else None.

    One query by a unique index, none for a malformed token.
    """
    form = _FORM.match(secret_form)
    if form is None:
        return None
    prefix, secret = form.groups()
    token = _fetch_token(prefix)
    digest = hashlib.sha256(secret.encode()).digest()
    if token is None or not hmac.compare_digest(bytes(token.secret_sha256), digest) or not token.is_usable:
        return None
    _record_use(token)
    return token


def _fetch_token(prefix: str) -> ApiToken | None:
    # A compiled query: every request of a tool needs it, and the ORM takes 2 ms to build the SQL.
    with acting_everywhere():  # its workspace isn't known yet
        rows = _query_by_prefix().fetch({"prefix": prefix})
    if not rows:
        return None
    (row,) = rows
    token = load_instance(ApiToken, _TOKEN_FIELDS, row[: len(_TOKEN_FIELDS)])
    token.workspace = load_instance(Workspace, _WORKSPACE_FIELDS, row[len(_TOKEN_FIELDS) : -1])
    token.group_ids = row[-1]
    return token


@cache
def _query_by_prefix() -> CompiledQuery:
    of_workspace = (f"workspace__{name}" for name in _WORKSPACE_FIELDS)
    tokens = with_token_groups(ApiToken.objects.filter(prefix=Param("prefix", TextField())))
    return compile_queryset(
        tokens.order_by().values_list(*_TOKEN_FIELDS, *of_workspace, "group_ids"), is_prepared=True
    )


def readable_tokens() -> "QuerySet[ApiToken]":
    """Return tokens as `token_access` needs them, each with its workspace and `group_ids`."""
    return with_token_groups(ApiToken.objects.select_related("workspace"))


def with_token_groups(tokens: "QuerySet[ApiToken]") -> "QuerySet[ApiToken]":
    """Annotate each token with its `group_ids`, in the same query."""
    its_own = TokenGroup.objects.filter(workspace=OuterRef("workspace"), token=OuterRef("pk"))
    groups = its_own.order_by("group_id")
    return tokens.annotate(group_ids=ArraySubquery(groups.values("group_id")))  # type: ignore[no-redef]  # the model declares it


def _record_use(token: ApiToken) -> None:
    now = timezone.now()
    if token.last_used_at is not None and now - token.last_used_at < _LAST_USE_STEP:
        return
    stale = Q(last_used_at=None) | Q(last_used_at__lt=now - _LAST_USE_STEP)
    with acting_in(token.workspace_id):
        ApiToken.objects.filter(stale, id=token.id).update(last_used_at=now)
