"""Cursors into a stored snapshot of a ranked list, so that pages never repeat or skip a hit.

A cursor names a list by an id that nobody can guess, and a position in it. The list is stored for one caller
and one workspace; for any other caller it doesn't exist, just as after its expiry. It holds ids, ranks and
scores, no text of a document; each page reads its chunks from Postgres under the current rights and filters.
"""

import hmac
import logging
import struct
import uuid
from dataclasses import replace

from django.conf import settings
from redis.exceptions import RedisError

from search.engine.ranking_snapshot import ResultSnapshot
from search.retrieval.errors import StaleCursor
from search.retrieval.types import SearchResult
from search.runtime import runtime

logger = logging.getLogger(__name__)

_STALE = "This cursor opens no list, or none any more: one is kept for 15 minutes. Ask the query again."
_UNREACHABLE = "There is no cursor, as Redis can't be reached; for more hits ask again, or for a larger k."
_NO_ROOM = "There is no cursor, as this caller's lists take all the room they may; ask for a larger k."
_ID_BYTES = 16
_TOKEN = struct.Struct(f">{_ID_BYTES}sH")


def add_cursor(
    result: SearchResult, snapshot: ResultSnapshot, workspace_id: uuid.UUID, caller: str
) -> SearchResult:
    """Return the first page with the cursor of the second, or with a warning if it could not be stored."""
    try:
        cursor = store_list(snapshot, workspace_id, caller, position=snapshot.query.k)
    except RedisError:
        return replace(result, warnings=(*result.warnings, _UNREACHABLE))
    if cursor is None:
        return replace(result, warnings=(*result.warnings, _NO_ROOM))
    return replace(result, next_cursor=cursor)


def store_list(
    snapshot: ResultSnapshot, workspace_id: uuid.UUID, caller: str, *, position: int
) -> str | None:
    """Store the list and return a cursor after its first `position` entries.

    The same list of the same caller is stored once. Return None if the caller has reached its limit.
    Raises RedisError.
    """
    owner, content = _owner(workspace_id, caller), snapshot.to_bytes()
    list_id = hmac.digest(settings.SECRET_KEY.encode(), owner.encode() + content, "sha256")[:_ID_BYTES]
    if not runtime().cursor_store.store(owner, list_id.hex(), content):
        return None
    return _format_cursor(list_id, position)


def load_list(cursor: str, workspace_id: uuid.UUID, caller: str) -> tuple[ResultSnapshot, int]:
    """Return the list and the position, from 0, that the cursor names; the list's expiry starts again.

    Raises StaleCursor for an expired, lost or invalid cursor, or one of another caller or workspace;
    RedisError.
    """
    list_id, position = _parse_cursor(cursor)
    content = runtime().cursor_store.find(_owner(workspace_id, caller), list_id.hex())
    if content is None:
        raise StaleCursor(_STALE)
    try:
        return ResultSnapshot.from_bytes(content), position
    except ValueError as error:
        raise StaleCursor(_STALE) from error


def cursor_at(cursor: str, position: int) -> str:
    """Return the cursor of another position in the same list. Raises StaleCursor."""
    return _format_cursor(_parse_cursor(cursor)[0], position)


def delete_lists(workspace_id: uuid.UUID) -> None:
    """Delete the lists of a deleted workspace, as they contain queries; else they would expire later."""
    try:
        runtime().cursor_store.delete(f"{workspace_id.hex}:")
    except RedisError as error:
        logger.warning("the lists of %s go when their time is over: %s", workspace_id, error)


def _owner(workspace_id: uuid.UUID, caller: str) -> str:
    return f"{workspace_id.hex}:{caller}"


def _format_cursor(list_id: bytes, position: int) -> str:
    # Not base64: a command line takes a leading `-` for an option.
    return _TOKEN.pack(list_id, position).hex()


def _parse_cursor(cursor: str) -> tuple[bytes, int]:
    try:
        list_id, position = _TOKEN.unpack(bytes.fromhex(cursor))
    except (ValueError, struct.error) as error:
        raise StaleCursor(_STALE) from error
    return list_id, position
