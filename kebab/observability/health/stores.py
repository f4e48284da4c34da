"""Whether Postgres, Redis and the mirrors' folder answer, found out within 0.8 s whatever they do.

Each has a thread of its own, and no connection of the pool: it is asked when all of the process's
threads and connections wait for it, and a store that hangs holds that one thread.
"""

import errno
import logging
import os
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

import psycopg
import redis
from django.conf import settings

from kebab.observability.health.pending_migrations import missing_in
from kebab.stack.servers.reachability import connect
from kebab.stack.servers.redis_client import quick_redis

logger = logging.getLogger(__name__)

LIMIT_S = 0.8
# Of one look; the next may find that it has answered meanwhile.
_CONNECT_LIMIT_S = 2
# A finding serves all who ask within this.
_FRESH_S = 0.5
_FULL = {errno.ENOSPC, errno.EDQUOT}


class Standing(StrEnum):
    """How a store is: while one is `degraded` searches go on."""

    OK = "ok"
    DEGRADED = "degraded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a look found, and how long it took; of one that isn't over nothing is known but that."""

    standings: dict[str, Standing]
    took_s: float | None = None


class Watch:
    """Looks at one store, in a thread of its own; `unanswered` is what holds while it doesn't answer."""

    def __init__(
        self, name: str, look: Callable[[], dict[str, Standing]], unanswered: dict[str, Standing]
    ) -> None:
        self.name = name
        self._look = look
        self._unanswered = Finding(standings=unanswered)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"look-{name}")
        self._under_way: Future[Finding] | None = None
        self._begun_at = 0.0
        self._beginning = threading.Lock()

    def begin(self) -> "Future[Finding]":
        """Look, unless a look is under way or has just been."""
        with self._beginning:
            is_fresh = time.monotonic() - self._begun_at < _FRESH_S
            if self._under_way is None or (self._under_way.done() and not is_fresh):
                self._begun_at = time.monotonic()
                self._under_way = self._thread.submit(self._find)
            return self._under_way

    def found_by(self, look: "Future[Finding]") -> Finding:
        """Return what a look has found, as far as it is over."""
        return look.result() if look.done() else self._unanswered

    def _find(self) -> Finding:
        began = time.monotonic()
        try:
            return Finding(standings=self._look(), took_s=time.monotonic() - began)
        except (psycopg.Error, redis.RedisError, OSError) as error:
            logger.debug("%s: %s", self.name, error)
            return self._unanswered


def look_at_all(limit_s: float = LIMIT_S) -> dict[str, Finding]:
    """Return what is found within the limit, by store: `postgres`, `redis`, `mirrors`."""
    looks = {watch: watch.begin() for watch in _watches()}
    wait(looks.values(), limit_s)
    return {watch.name: watch.found_by(look) for watch, look in looks.items()}


@cache
def _watches() -> tuple[Watch, ...]:
    failed, degraded = Standing.FAILED, Standing.DEGRADED
    return (
        Watch("postgres", _look_at_postgres, {"postgres": failed, "migrations": failed}),
        Watch("redis", _look_at_redis, {"redis": degraded}),
        Watch("mirrors", _look_at_mirrors, {"mirrors": failed}),
    )


def _look_at_postgres() -> dict[str, Standing]:
    """Return whether it lets us in, outside the pool that requests wait for, and has this code's tables."""
    with connect(settings.DATABASES["default"], connect_timeout=_CONNECT_LIMIT_S) as connection:
        is_complete = not missing_in(connection)
    return {"postgres": Standing.OK, "migrations": Standing.OK if is_complete else Standing.FAILED}


def _look_at_redis() -> dict[str, Standing]:
    """Without it searches go on, and uploads: the sweep hints later."""
    with quick_redis(settings.REDIS_URL, connect_limit_s=LIMIT_S, answer_limit_s=LIMIT_S) as client:
        client.ping()
    return {"redis": Standing.OK}


def _look_at_mirrors() -> dict[str, Standing]:
    """Return whether this node's mirrors can follow; with a full disk they are searched as they are."""
    folder = Path(settings.KEBAB_MIRROR_DIR)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        trial = folder / f".written-{os.getpid()}-{secrets.token_hex(4)}"
        try:
            trial.write_bytes(b"1")
        finally:
            trial.unlink(missing_ok=True)
    except OSError as error:
        return {"mirrors": Standing.DEGRADED if error.errno in _FULL else Standing.FAILED}
    return {"mirrors": Standing.OK}
