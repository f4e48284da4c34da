"""Cursors: the ranked list of a query, frozen, so that its pages never repeat or skip a hit.

A cursor names a list by an id that nobody can guess, and a place in it. The list is kept for the caller who
asked and the workspace that was searched: under another caller's name there is nothing, exactly as after its
time. What is kept are ids, ranks and scores, no text of a document; each page reads its chunks from Postgres
under the rights and filters of its own moment.
"""

import hmac
import logging
import struct
import uuid
from dataclasses import replace

from django.conf import settings
from redis.exceptions import RedisError

from search.engine.cursor_store import cursor_store
from search.engine.ranking_snapshot import FrozenList
from search.retrieval.errors import StaleCursor
from search.retrieval.types import SearchResult

logger = logging.getLogger(__name__)

_STALE = "This cursor opens no list, or none any more: one is kept for 15 minutes. Ask the query again."
_UNREACHABLE = "There is no cursor, as Redis can't be reached; for more hits ask again, or for a larger k."
_NO_ROOM = "There is no cursor, as this caller's lists take all the room they may; ask for a larger k."
_ID_BYTES = 16
_TOKEN = struct.Struct(f">{_ID_BYTES}sH")


def with_cursor(
    result: SearchResult, frozen: FrozenList, workspace_id: uuid.UUID, caller: str
) -> SearchResult:
    """Return the first page with the cursor of the second, or with a warning that says why there is none."""
    try:
        cursor = freeze(frozen, workspace_id, caller, place=frozen.query.k)
    except RedisError:
        return replace(result, warnings=(*result.warnings, _UNREACHABLE))
    if cursor is None:
        return replace(result, warnings=(*result.warnings, _NO_ROOM))
    return replace(result, next_cursor=cursor)


def freeze(frozen: FrozenList, workspace_id: uuid.UUID, caller: str, *, place: int) -> str | None:
    """Keep the list, and give the cursor of what is behind its first `place` places.

    The same list of the same caller is kept once. None: the caller has kept as much as it may.
    Raises RedisError.
    """
    owner, content = _owner(workspace_id, caller), frozen.to_bytes()
    list_id = hmac.digest(settings.SECRET_KEY.encode(), owner.encode() + content, "sha256")[:_ID_BYTES]
    if not cursor_store().keep(owner, list_id.hex(), content):
        return None
    return _token(list_id, place)


def thaw(cursor: str, workspace_id: uuid.UUID, caller: str) -> tuple[FrozenList, int]:
    """Return the list and the place, from 0, that the cursor names; the list is kept for as long again.

    Raises StaleCursor for one that is over, lost, somebody else's, another workspace's or never was;
    RedisError.
    """
    list_id, place = _opened(cursor)
    content = cursor_store().find(_owner(workspace_id, caller), list_id.hex())
    if content is None:
        raise StaleCursor(_STALE)
    try:
        return FrozenList.from_bytes(content), place
    except ValueError as error:
        raise StaleCursor(_STALE) from error


def cursor_at(cursor: str, place: int) -> str:
    """Return the cursor of another place in the same list. Raises StaleCursor."""
    return _token(_opened(cursor)[0], place)


def forget_lists(workspace_id: uuid.UUID) -> None:
    """Remove the lists of a workspace that is gone, whose queries they hold; Redis' clock does it, too."""
    try:
        cursor_store().forget(f"{workspace_id.hex}:")
    except RedisError as error:
        logger.warning("the lists of %s go when their time is over: %s", workspace_id, error)


def _owner(workspace_id: uuid.UUID, caller: str) -> str:
    return f"{workspace_id.hex}:{caller}"


def _token(list_id: bytes, place: int) -> str:
    # Not base64: a command line takes what begins with `-` for an option.
    return _TOKEN.pack(list_id, place).hex()


def _opened(cursor: str) -> tuple[bytes, int]:
    try:
        list_id, place = _TOKEN.unpack(bytes.fromhex(cursor))
    except (ValueError, struct.error) as error:
        raise StaleCursor(_STALE) from error
    return list_id, place
