"""`Idempotency-Key`: a POST sent twice is done once and answered twice, for 24 hours.

Only successes are kept; a request that failed may be sent again under its key.
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
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import DatabaseError, connection, transaction
from django.http.response import HttpResponseBase
from django.utils import timezone
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.http.api.errors import Conflict, InvalidRequest, Unprocessable
from kebab.http.api.models import IdempotencyKey
from kebab.http.api.views import ApiView

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
KEEP = timedelta(hours=24)
#: An attempt that has not ended after this long is taken for dead.
PATIENCE = timedelta(seconds=60)

_KEY = re.compile(r"\A[\x20-\x7e]{1,200}\Z")

Post = Callable[..., HttpResponseBase]
#: Takes the view and a kept answer's body, and raises what a caller is told who may know that no more.
Recheck = Callable[[Any, Any], None]


def idempotent(*, recheck: Recheck | None, withhold: Sequence[str] = ()) -> Callable[[Post], Post]:
    """Decorate the `post` of an `ApiView`. Fields in `withhold` are never stored: a replay has null there.

    A replay is given to who may still make the request. Where the answer is about something that not all of
    them may know of, `recheck` refuses it to those who may not any more; None: they all may.
    """

    def decorate(post: Post) -> Post:
        @functools.wraps(post)
        def once(view: ApiView, request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
            key = request.headers.get(HEADER)
            if key is None:
                return post(view, request, *args, **kwargs)
            row, is_ours = _claim(view, request, key)
            if not is_ours:
                if recheck is not None:
                    recheck(view, row.body)
                return _replay(row)
            with _Attempt(row=row, withhold=tuple(withhold)) as attempt:
                return attempt.keep(post(view, request, *args, **kwargs))

        once.takes_idempotency_key = True  # type: ignore[attr-defined]  # the schema documents the header
        return once

    return decorate


def prune_idempotency_keys() -> int:
    """Forget answers older than 24 hours; give how many."""
    deleted, _ = IdempotencyKey.objects.filter(created_at__lt=timezone.now() - KEEP).delete()
    return deleted


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """One run of a POST under its key: it is kept, or its claim is given up."""

    row: IdempotencyKey
    withhold: tuple[str, ...]

    def __enter__(self) -> "_Attempt":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            # If the database is what failed, the claim runs out by itself after a minute.
            with suppress(DatabaseError):
                self._rows().delete()

    def keep(self, response: HttpResponseBase) -> HttpResponseBase:
        """Store a success and give it on; anything else gives the claim up."""
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
    asked = {"target": f"{request.method} {request.path}"[:500], "request_sha256": _fingerprint(request)}
    whose = {"workspace": getattr(view, "workspace", None), "actor": view.caller.identity, "key": key}
    defaults = {**asked, "claimed_at": now, "created_at": now}
    with transaction.atomic(), connection.cursor() as cursor:
        # Two at once are nothing that PostgreSQL's log need call an error.
        lock = f"{whose['workspace'] and whose['workspace'].pk} {whose['actor']} {key}"
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [lock])
        row, is_new = IdempotencyKey.objects.get_or_create(**whose, defaults=defaults)
    if is_new:
        return row, True
    if row.created_at < now - KEEP:
        return _take_over(row, now, **asked), True
    if not _is_of(request, bytes(row.request_sha256), asked["request_sha256"]):
        raise Unprocessable(
            f"This {HEADER} was used for another request; take a new one.", code="idempotency_key_reused"
        )
    if row.status is not None:
        return row, False
    if row.claimed_at > now - PATIENCE:
        raise _in_progress()
    return _take_over(row, now, **asked), True


def _take_over(row: IdempotencyKey, now: datetime, **asked: Any) -> IdempotencyKey:
    fresh = {**asked, "claimed_at": now, "created_at": now, "status": None, "body": None, "location": ""}
    if not IdempotencyKey.objects.filter(pk=row.pk, claimed_at=row.claimed_at).update(**fresh):
        raise _in_progress()
    row.claimed_at = now
    return row


def _in_progress() -> Conflict:
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


def _is_of(request: Request, kept: bytes, fingerprint: bytes) -> bool:
    """Return whether what is kept is of this request, under the secret key or an earlier one."""
    earlier = (_fingerprint(request, key) for key in settings.SECRET_KEY_FALLBACKS)
    return kept == fingerprint or any(kept == each for each in earlier)


def _fingerprint(request: Request, key: str | None = None) -> bytes:
    # With a key: a body may hold credentials, which a plain digest would let somebody guess from a dump.
    key = settings.SECRET_KEY if key is None else key
    digest = hmac.new(key.encode(), f"{request.method} {request.get_full_path()}\n".encode(), hashlib.sha256)
    if not hasattr(request.data, "lists"):
        digest.update(json.dumps(request.data, sort_keys=True).encode())
        return digest.digest()
    for name, values in sorted(request.data.lists()):
        for value in values:
            digest.update(f"\n{name}\n".encode())
            _add(digest, value)
    return digest.digest()


def _add(digest: Any, value: Any) -> None:
    if not isinstance(value, UploadedFile):
        digest.update(str(value).encode())
        return
    digest.update(f"{value.name}\n{value.content_type}\n".encode())
    for piece in value.chunks():
        digest.update(piece)
    value.seek(0)
