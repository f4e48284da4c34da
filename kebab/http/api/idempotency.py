"""`Idempotency-Key`: a POST sent twice within 24 hours is executed once and answered twice.

Only successes are stored; a request that failed may be sent again under its key.
"""

import functools
import hashlib
import hmac
import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import DatabaseError, connection, transaction
from django.http.response import HttpResponseBase
from django.utils import timezone
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.errors import Conflict, InvalidRequest, Unprocessable
from kebab.http.api.models import IdempotencyKey
from kebab.http.api.views import ApiView
from kebab.identity.models import Workspace

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
RETENTION = timedelta(hours=24)
#: An attempt that has not ended after this long is presumed dead.
CLAIM_TIMEOUT = timedelta(seconds=60)

_KEY = re.compile(r"\A[\x20-\x7e]{1,200}\Z")

_Response = TypeVar("_Response", bound=HttpResponseBase)
#: Takes the view and a stored response's body; raises the error for a caller who may no longer see it.
Recheck = Callable[[Any, Any], None]


def idempotent(
    *, recheck: Recheck | None, withhold: Sequence[str] = ()
) -> Callable[[Callable[..., _Response]], Callable[..., _Response | Response]]:
    """Decorate the `post` of an `ApiView`. Fields in `withhold` are never stored: a replay has null there.

    A replay goes to callers who may still make the request. If the response concerns something that some of
    them may not see, `recheck` refuses it to those; None: all of them may see it.
    """

    def decorate(post: Callable[..., _Response]) -> Callable[..., _Response | Response]:
        @functools.wraps(post)
        def post_once(view: ApiView, request: Request, *args: Any, **kwargs: Any) -> _Response | Response:
            key = request.headers.get(HEADER)
            if key is None:
                return post(view, request, *args, **kwargs)
            row, is_ours = _claim(view, request, key)
            if not is_ours:
                if recheck is not None:
                    recheck(view, row.body)
                return _replay(row)
            with _Attempt(row=row, withhold=tuple(withhold)) as attempt:
                return attempt.store(post(view, request, *args, **kwargs))

        post_once.takes_idempotency_key = True  # type: ignore[attr-defined]  # the schema documents the header
        return post_once

    return decorate


def prune_idempotency_keys() -> int:
    """Delete responses older than 24 hours; return their number."""
    deleted, _ = IdempotencyKey.objects.filter(created_at__lt=timezone.now() - RETENTION).delete()
    return deleted


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """One run of a POST under its key: its response is stored, or its claim is deleted."""

    row: IdempotencyKey
    withhold: tuple[str, ...]

    def __enter__(self) -> "_Attempt":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            # If the database failed, the claim expires by itself after a minute.
            with suppress(DatabaseError):
                self._rows().delete()

    def store(self, response: _Response) -> _Response:
        """Store a successful response, or delete the claim after any other; return the response."""
        if not isinstance(response, Response) or response.status_code >= 400:
            self._rows().delete()
            return response
        body = json.loads(JSONRenderer().render(response.data) or b"null")
        if isinstance(body, dict):
            body.update(dict.fromkeys(self.withhold))
        location = response.headers.get("Location", "")
        self._rows().update(status=response.status_code, body=body, location=location)
        return response

    def _rows(self) -> Any:
        return IdempotencyKey.objects.filter(pk=self.row.pk, claimed_at=self.row.claimed_at)


def _claim(view: ApiView, request: Request, key: str) -> tuple[IdempotencyKey, bool]:
    if not _KEY.match(key):
        raise InvalidRequest(
            f"{HEADER} must be 1 to 200 printable ASCII characters.", code="invalid_idempotency_key"
        )
    now = timezone.now()
    fingerprint = _fingerprint(request)
    target = {"target": f"{request.method} {request.path}"[:500], "request_sha256": fingerprint}
    workspace: Workspace | None = getattr(view, "workspace", None)
    actor = view.caller.identity
    defaults = {**target, "claimed_at": now, "created_at": now}
    with transaction.atomic(), connection.cursor() as cursor:
        # The lock keeps two concurrent requests from causing a unique violation in PostgreSQL's log.
        lock = f"{workspace and workspace.pk} {actor} {key}"
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [lock])
        row, is_new = IdempotencyKey.objects.get_or_create(
            workspace=workspace, actor=actor, key=key, defaults=defaults
        )
    if is_new:
        return row, True
    if row.created_at < now - RETENTION:
        return _take_over(row, now, **target), True
    if not _is_same_request(request, bytes(row.request_sha256), fingerprint):
        raise Unprocessable(
            f"This {HEADER} was used for another request; take a new one.", code="idempotency_key_reused"
        )
    if row.status is not None:
        return row, False
    if row.claimed_at > now - CLAIM_TIMEOUT:
        raise _in_progress_error()
    return _take_over(row, now, **target), True


def _take_over(row: IdempotencyKey, now: datetime, **target: Any) -> IdempotencyKey:
    fresh = {**target, "claimed_at": now, "created_at": now, "status": None, "body": None, "location": ""}
    if not IdempotencyKey.objects.filter(pk=row.pk, claimed_at=row.claimed_at).update(**fresh):
        raise _in_progress_error()
    row.claimed_at = now
    return row


def _in_progress_error() -> Conflict:
    return Conflict(
        f"The first request with this {HEADER} is still running; try again.",
        code="idempotency_in_progress",
        retry_after_s=2,
    )


def _replay(row: IdempotencyKey) -> Response:
    headers = {REPLAYED: "true"}
    if row.location:
        headers["Location"] = row.location
    return Response(row.body, status=row.status, headers=headers)


def _is_same_request(request: Request, stored: bytes, fingerprint: bytes) -> bool:
    """Return whether the stored fingerprint is this request's, under the secret key or an earlier one."""
    earlier = (_fingerprint(request, key) for key in settings.SECRET_KEY_FALLBACKS)
    return stored == fingerprint or any(stored == each for each in earlier)


def _fingerprint(request: Request, key: str | None = None) -> bytes:
    # Keyed: a body may hold credentials, which could be guessed from a plain digest in a database dump.
    key = settings.SECRET_KEY if key is None else key
    digest = hmac.new(key.encode(), f"{request.method} {request.get_full_path()}\n".encode(), hashlib.sha256)
    if not hasattr(request.data, "lists"):
        digest.update(json.dumps(request.data, sort_keys=True).encode())
        return digest.digest()
    for name, values in sorted(request.data.lists()):
        for value in values:
            digest.update(f"\n{name}\n".encode())
            _add_to_digest(digest, value)
    return digest.digest()


def _add_to_digest(digest: Any, value: Any) -> None:
    if not isinstance(value, UploadedFile):
        digest.update(str(value).encode())
        return
    digest.update(f"{value.name}\n{value.content_type}\n".encode())
    for piece in value.chunks():
        digest.update(piece)
    value.seek(0)
