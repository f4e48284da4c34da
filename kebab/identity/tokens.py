"""Tokens: `kbb_<prefix>_<secret>`, or `kbp_…` for a person's, with 256 random bits, stored as SHA-256."""

import base64
import hashlib
import hmac
import logging
import re
import secrets
import uuid
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import cache
from types import MappingProxyType
from typing import Any, TypeVar

from django.contrib.postgres.expressions import ArraySubquery
from django.db import DatabaseError, connection, transaction
from django.db.models import OuterRef, Q, QuerySet, TextField
from django.utils import timezone

from kebab.database.compiled_queries import CompiledQuery, Param, compile_queryset, load_instance
from kebab.database.transactions import local_transaction
from kebab.identity.models import ApiToken, Group, PersonalToken, TokenGroup, TokenScope, User, Workspace
from kebab.identity.models.token import Token
from kebab.runtime.role import COMMAND, own_role
from kebab.tenancy.current_workspace import acting_everywhere, acting_in, acting_nowhere

logger = logging.getLogger(__name__)

_FORM = re.compile(r"\A(kbb|kbp)_([a-z2-7]{12})_([A-Za-z0-9_-]{43})\Z")
_Token = TypeVar("_Token", bound=Token)
# A token's last use is written at most this often.
_LAST_USE_STEP = timedelta(minutes=1)
# Ids of tokens whose use a thread is about to write; beyond the limit uses are not recorded.
_pending_uses: set[uuid.UUID] = set()
_MAX_PENDING_USES = 1_000
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
    with transaction.atomic():
        token, secret = _mint(
            ApiToken,
            workspace=workspace,
            name=name,
            scopes=scopes,
            filters=dict(filters),
            expires_at=expires_at,
            created_by=created_by,
        )
        rows = [TokenGroup(workspace=workspace, group=group, token=token) for group in groups]
        TokenGroup.objects.bulk_create(rows)
    token.group_ids = sorted(group.pk for group in groups)
    return token, secret


def mint_personal_token(
    user: User,
    *,
    scopes: Iterable[TokenScope | str],
    name: str = "",
    expires_at: datetime | None = None,
    **binding: Any,
) -> tuple[PersonalToken, str]:
    """Create a token that acts for a person; return it and its secret form.

    `binding` are the fields that tie it to an OAuth client, workspaces and an address.
    """
    return _mint(PersonalToken, user=user, name=name, scopes=scopes, expires_at=expires_at, **binding)


def renew_secret(token: PersonalToken, expires_at: datetime) -> str:
    """Replace the secret of a token until `expires_at`; return its new secret form."""
    secret = secrets.token_urlsafe(32)
    token.secret_sha256, token.expires_at = sha256(secret), expires_at
    token.save(update_fields=["secret_sha256", "expires_at"])
    return f"{token.kind}_{token.prefix}_{secret}"


def _mint(model: type[_Token], *, scopes: Iterable[TokenScope | str], **fields: Any) -> tuple[_Token, str]:
    prefix = base64.b32encode(secrets.token_bytes(8)).decode().lower().rstrip("=")[:12]
    secret = secrets.token_urlsafe(32)
    token = model._default_manager.create(
        prefix=prefix,
        secret_sha256=sha256(secret),
        scopes=sorted({TokenScope(scope).value for scope in scopes}),
        **fields,
    )
    return token, f"{model.kind}_{prefix}_{secret}"


def sha256(secret: str) -> bytes:
    """Return the form in which a secret is stored."""
    return hashlib.sha256(secret.encode()).digest()


def verify_token(secret_form: str, *, resource: str = "") -> ApiToken | PersonalToken | None:
    """Return the usable token with this secret form; else None.

    One that is bound to an address is usable at that `resource` alone. That of a workspace has its workspace
    and `group_ids`, a personal one its user, who is active.
    One query by a unique index, none for a malformed token.
    """
    token = find_token(secret_form)
    if token is None or not token.is_usable:
        return None
    if isinstance(token, PersonalToken) and not token.is_for(resource):
        return None
    _record_use(token)
    return token


def find_token(secret_form: str) -> ApiToken | PersonalToken | None:
    """Return the token with this secret form as `verify_token` does, also an expired or revoked one."""
    form = _FORM.match(secret_form)
    if form is None:
        return None
    kind, prefix, secret = form.groups()
    token = _fetch_token(prefix) if kind == ApiToken.kind else _fetch_personal_token(prefix)
    if token is None or not hmac.compare_digest(bytes(token.secret_sha256), sha256(secret)):
        return None
    return token


def _fetch_personal_token(prefix: str) -> PersonalToken | None:
    found = PersonalToken.objects.select_related("user").filter(prefix=prefix, user__is_active=True)
    return found.first()


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


def _record_use(token: ApiToken | PersonalToken) -> None:
    """Write the use of a token; in a server behind the request, which neither waits for it nor fails."""
    now = timezone.now()
    if token.last_used_at is not None and now - token.last_used_at < _LAST_USE_STEP:
        return
    if own_role() == COMMAND:
        _write_use(token, now)
    elif token.id not in _pending_uses and len(_pending_uses) < _MAX_PENDING_USES:
        _pending_uses.add(token.id)
        _use_writer().submit(_write_pending_use, token, now)


@cache
def _use_writer() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="token-use")


def _write_pending_use(token: ApiToken | PersonalToken, now: datetime) -> None:
    try:
        _write_use(token, now)
    finally:
        _pending_uses.discard(token.id)
        connection.close()


def _write_use(token: ApiToken | PersonalToken, now: datetime) -> None:
    stale = Q(last_used_at=None) | Q(last_used_at__lt=now - _LAST_USE_STEP)
    model, workspace_id = type(token), getattr(token, "workspace_id", None)
    acting = acting_nowhere() if workspace_id is None else acting_in(workspace_id)
    try:
        with acting, local_transaction():
            model._default_manager.filter(stale, id=token.id).update(last_used_at=now)
    except DatabaseError as error:
        logger.debug("the use of token %s is not recorded: %s", token.prefix, error)
