"""Cursors into a stored snapshot of a ranked list, so that pages never repeat or skip a hit.

A cursor names a list by an id that nobody can guess, and a position in it. The list is stored for one caller
and one workspace; for any other caller it doesn't exist, just as after its expiry. It holds ids, ranks and
scores, no text of a document, and is stored in Redis; each page reads its chunks from Postgres under the
current rights and filters.
"""

import hmac
import logging
import struct
import uuid
from functools import cache, partial

import redis
from django.conf import settings
from redis.exceptions import RedisError

from kebab.stack.servers.redis_client import RedisCircuitBreaker, quick_redis, sync_reply
from search.engine.ranking_snapshot import ResultSnapshot
from search.retrieval.errors import StaleCursor
from search.retrieval.types import SearchResult

#: A list is available for fifteen minutes after it was stored or last read; the sixteenth covers latency.
RETENTION_S = 16 * 60
# A search waits for Redis no longer than for a leg, and skips a Redis that has just failed.
_LIMIT_S = 0.25
_PAUSE_S = 1.0

# One round trip. An existing list has its expiry extended; a new one counts against its caller's limit of
# bytes for this quarter of an hour: a full Redis would refuse all writes, the hints for workers included.
_STORE_SCRIPT = """
if redis.call('EXPIRE', KEYS[1], ARGV[2]) == 1 then return 1 end
local used = redis.call('INCRBY', KEYS[2], #ARGV[1])
if used == #ARGV[1] then redis.call('EXPIRE', KEYS[2], ARGV[2]) end
if used > tonumber(ARGV[3]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
return 1
"""


class CursorStore:
    """A store of bytes by name, until sixteen minutes after their last use. Threads may share it."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._script = client.register_script(_STORE_SCRIPT)
        # Two, as a full Redis refuses writes but still answers reads.
        self._write_breaker = RedisCircuitBreaker(_PAUSE_S, meanwhile="no list is kept")
        self._read_breaker = RedisCircuitBreaker(_PAUSE_S, meanwhile="no list is found")

    def store(self, owner: str, name: str, content: bytes) -> bool:
        """Store `content`; return False if its owner has reached the limit. Raises RedisError."""
        keys = [f"kebab:cursor:{owner}:{name}", f"kebab:cursors-of:{owner}"]
        values: list[bytes | int] = [content, RETENTION_S, settings.KEBAB_CURSOR_LIMIT_BYTES]
        return bool(self._write_breaker.call(partial(self._script, keys=keys, args=values)))

    def find(self, owner: str, name: str) -> bytes | None:
        """Return the content and extend its expiry by sixteen minutes; None if absent. Raises RedisError."""
        find = partial(self._client.getex, f"kebab:cursor:{owner}:{name}", ex=RETENTION_S)
        content: bytes | None = sync_reply(self._read_breaker.call(find))
        return content

    def delete(self, owners: str) -> None:
        """Delete the content of all owners whose names begin with `owners`. Raises RedisError."""
        for name in self._client.scan_iter(match=f"kebab:cursor*:{owners}*", count=1_000):
            self._client.unlink(name)


@cache
def cursor_store() -> CursorStore:
    """Return this process's store, in the Redis of the settings."""
    return CursorStore(quick_redis(settings.REDIS_URL, connect_limit_s=_LIMIT_S, answer_limit_s=_LIMIT_S))


logger = logging.getLogger(__name__)

#: The detail of a `StaleCursor`.
STALE = "This cursor opens no list, or none any more: one is kept for 15 minutes. Ask the query again."
_UNREACHABLE = "There is no cursor, as Redis can't be reached; for more hits ask again, or for a larger k."
_NO_ROOM = "There is no cursor, as this caller's lists take all the room they may; ask for a larger k."
_ID_BYTES = 16
_TOKEN = struct.Struct(f">{_ID_BYTES}sH")


def add_cursor(
    result: SearchResult, snapshot: ResultSnapshot, workspace_id: uuid.UUID, caller: str, *, position: int
) -> SearchResult:
    """Add a cursor at this position to a page, or a warning if the list could not be stored; return it."""
    try:
        result.next_cursor = store_list(snapshot, workspace_id, caller, position=position)
    except RedisError:
        result.warnings += (_UNREACHABLE,)
        return result
    if result.next_cursor is None:
        result.warnings += (_NO_ROOM,)
    return result


def store_list(
    snapshot: ResultSnapshot, workspace_id: uuid.UUID, caller: str, *, position: int
) -> str | None:
    """Store the list and return a cursor after its first `position` entries.

    The same list of the same caller is stored once. Return None if the caller has reached its limit.
    Raises RedisError.
    """
    owner, content = _owner(workspace_id, caller), snapshot.to_bytes()
    list_id = hmac.digest(settings.SECRET_KEY.encode(), owner.encode() + content, "sha256")[:_ID_BYTES]
    if not cursor_store().store(owner, list_id.hex(), content):
        return None
    return _format_cursor(list_id, position)


def load_list(cursor: str, workspace_id: uuid.UUID, caller: str) -> tuple[ResultSnapshot, int]:
    """Return the list and the position, from 0, that the cursor names; the list's expiry starts again.

    Raises StaleCursor for an expired, lost or invalid cursor, or one of another caller or workspace;
    RedisError.
    """
    list_id, position = _parse_cursor(cursor)
    content = cursor_store().find(_owner(workspace_id, caller), list_id.hex())
    if content is None:
        raise StaleCursor(STALE)
    try:
        return ResultSnapshot.from_bytes(content), position
    except ValueError as error:
        raise StaleCursor(STALE) from error


def cursor_at(cursor: str, position: int) -> str:
    """Return the cursor of another position in the same list. Raises StaleCursor."""
    return _format_cursor(_parse_cursor(cursor)[0], position)


def delete_lists(workspace_id: uuid.UUID) -> None:
    """Delete the lists of a deleted workspace, as they contain queries; else they would expire later."""
    try:
        cursor_store().delete(f"{workspace_id.hex}:")
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
        raise StaleCursor(STALE) from error
    return list_id, position
