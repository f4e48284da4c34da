"""Rate limit rules: the limits, the names they count under, and their messages."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from math import ceil
from threading import Lock
from time import time
from typing import Any, Final, TypeVar

import redis
from django.conf import settings
from django.core import checks
from django.http import HttpRequest
from limits import RateLimitItem, parse
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from kebab.errors import RateLimited
from kebab.http.rate_limits.client_address import client_network
from kebab.stack.servers.redis_client import RedisCircuitBreaker, quick_redis

_CONNECT_LIMIT_S: Final = 0.02
_PAUSE_S: Final = 5.0

Answer = TypeVar("Answer")


class _CountingStorage(RedisStorage):
    """A storage whose hits return how many more there is room for, in the same request to Redis."""

    SCRIPT_ACQUIRE_SLIDING_WINDOW = RedisStorage.SCRIPT_ACQUIRE_SLIDING_WINDOW.replace(
        b"return true", b"return math.max(limit - weighted_count - amount, 0) + 1"
    )

    def acquire_sliding_window_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> int:  # type: ignore[override]  # a number is as true as True
        """Count a hit; return the room left and one, or 0 if there was none."""
        keys = [self.prefixed_key(self._previous_window_key(key)), self._current_key(key)]
        return int(self.lua_acquire_sliding_window(keys, [limit, expiry, amount]) or 0)

    def _current_key(self, key: str) -> str:
        return self.prefixed_key(self._current_window_key(key))


class Limiter:
    """Counters of hits by name; no method fails, and each makes one request to Redis, `reset` two.

    Threads may share it.

    Cloudflare, "How we built rate limiting capable of scaling to millions of domains" (2017): the window's
    count is that of the current interval plus the share of the previous one that still lies in the window.
    """

    def __init__(self, client: redis.Redis) -> None:
        pool = client.connection_pool
        storage = _CountingStorage("redis://", connection_pool=pool, key_prefix="kebab:limits")
        self._shared = SlidingWindowCounterRateLimiter(storage)
        self._own = SlidingWindowCounterRateLimiter(MemoryStorage())
        # The storage may start its timer twice when two threads count at once, and raises then.
        self._own_lock = Lock()
        self._pause = RedisCircuitBreaker(_PAUSE_S, meanwhile="each process counts alone")

    def hit(self, limit: RateLimitItem, *name: str) -> bool:
        """Count one hit under `name`; return False, without counting it, when the limit is reached."""
        return self.count_down(limit, *name) is not None

    def count_down(self, limit: RateLimitItem, *name: str) -> int | None:
        """Count one hit under `name`; return how many more there is room for, None if it has none."""
        left = self._call(lambda window: window.hit(limit, *name))
        if left is True:  # without Redis
            return self._own.get_window_stats(limit, *name).remaining
        return left - 1 if left else None

    def has_room(self, limit: RateLimitItem, *name: str) -> bool:
        """Return whether one more hit would be within the limit."""
        return self._call(lambda window: window.test(limit, *name))

    def uncount(self, limit: RateLimitItem, *name: str) -> None:
        """Subtract one hit under `name` that should not have been counted."""
        self._call(lambda window: window.hit(limit, *name, cost=-1))

    def retry_after_s(self, limit: RateLimitItem, *name: str) -> int:
        """Return the whole seconds, at least one, until the window has room again."""
        stats = self._call(lambda window: window.get_window_stats(limit, *name))
        return max(1, ceil(stats.reset_time - time()))

    def reset(self, limit: RateLimitItem, *name: str) -> None:
        """Reset the counter under `name`."""
        self._call(lambda window: window.clear(limit, *name))

    def _call(self, operation: Callable[[SlidingWindowCounterRateLimiter], Answer]) -> Answer:
        try:
            return self._pause.call(partial(operation, self._shared))
        except redis.RedisError:
            with self._own_lock:
                return operation(self._own)


def redis_for_limits(url: str, *, answer_limit_s: float) -> redis.Redis:
    """Return a Redis client whose time limits are short enough for a request."""
    return quick_redis(url, connect_limit_s=_CONNECT_LIMIT_S, answer_limit_s=answer_limit_s)


@cache
def limiter() -> Limiter:
    """Return this process's limiter."""
    answer_limit_s = settings.KEBAB_COUNT_LIMIT_MS / 1000
    return Limiter(redis_for_limits(settings.REDIS_URL, answer_limit_s=answer_limit_s))


# The key in `request.META` of a request that has been counted, with the number of further ones that there is
# room for, None for one without a name; no header can set it.
_COUNTED = "kebab.counted"


def is_counted(request: HttpRequest) -> bool:
    """Return whether the request has been counted."""
    return _COUNTED in request.META


def count_request(request: HttpRequest, name: str) -> None:
    """Count a request under the caller's unique `name`, unless it has been counted. Raises RateLimited."""
    if is_counted(request):
        return
    request.META[_COUNTED] = 0
    limit = parse_limit(settings.KEBAB_RATE_LIMIT)
    request.META[_COUNTED] = count(limit, "requests", name, message="You ask too often.")


def rate_limit_headers(request: HttpRequest) -> dict[str, str]:
    """Return the headers that tell a counted caller the limit, what is left of it, and the time it is for.

    They are those of draft-ietf-httpapi-ratelimit-headers-06.
    """
    left = request.META.get(_COUNTED)
    if left is None:
        return {}
    limit = parse_limit(settings.KEBAB_RATE_LIMIT)
    window_s = limit.get_expiry()
    return {
        "RateLimit-Limit": f"{limit.amount}, {limit.amount};w={window_s}",
        "RateLimit-Remaining": str(left),
        "RateLimit-Reset": str(window_s),
    }


def count_bad_token(request: HttpRequest) -> None:
    """Count a refused token against the client's address. Raises RateLimited.

    It is called after a token has failed, so that a valid one is accepted from any address at any time.
    """
    request.META[_COUNTED] = None
    limit = parse_limit(settings.KEBAB_BAD_TOKEN_LIMIT)
    message = "Too many unknown, expired or revoked tokens came from this address."
    count(limit, "bad-tokens", client_network(request), message=message)


def count_mail(request: HttpRequest) -> None:
    """Count a request that sends an e-mail against the client's address. Raises RateLimited."""
    limit = parse_limit(settings.KEBAB_MAIL_LIMITS["address"])
    count(
        limit, "mails", client_network(request), message="Too many e-mails were asked for from this address."
    )


def count_mail_to(email: str) -> bool:
    """Count an e-mail to `email`; return whether it may still be sent."""
    return limiter().hit(
        parse_limit(settings.KEBAB_MAIL_LIMITS["account"]), "mails-to", email_fingerprint(email)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInAttempt:
    """One attempt to sign in as `email`, whether or not there is such an account.

    Failures count against the client's network, and against an account from that network; never against an
    account alone, which would let anybody lock its owner out.
    """

    request: HttpRequest
    email: str

    def count(self) -> None:
        """Count the attempt before the password is checked, so that concurrent attempts are limited too.

        Raises RateLimited after too many failed ones.
        """
        for limit, name in self._counters():
            count(limit, *name, message="Too many attempts to sign in from here have failed.")

    def clear_failures(self) -> None:
        """Uncount a successful attempt, and reset the failures of this account from this network."""
        (account_limit, account_name), (address_limit, address_name) = self._counters()
        limiter().reset(account_limit, *account_name)
        limiter().uncount(address_limit, *address_name)

    def _counters(self) -> tuple[tuple[RateLimitItem, tuple[str, ...]], ...]:
        network = client_network(self.request)
        limits = settings.KEBAB_SIGN_IN_LIMITS
        return (
            (parse_limit(limits["account"]), ("sign-ins", network, email_fingerprint(self.email))),
            (parse_limit(limits["address"]), ("sign-ins", network)),
        )


def count(limit: RateLimitItem, *name: str, message: str) -> int:
    """Count one hit under `name`; return how many more there is room for.

    Raises RateLimited, which begins with `message`.
    """
    left = limiter().count_down(limit, *name)
    if left is None:
        raise _refusal(limit, name, message)
    return left


def check_room(limit: RateLimitItem, *name: str, message: str) -> None:
    """Raise RateLimited, which begins with `message`, when one more hit under `name` is over the limit."""
    if not limiter().has_room(limit, *name):
        raise _refusal(limit, name, message)


def _refusal(limit: RateLimitItem, name: tuple[str, ...], message: str) -> RateLimited:
    retry_after_s = limiter().retry_after_s(limit, *name)
    return RateLimited(
        f"{message} Try again in {_format_duration(retry_after_s)}.", retry_after_s=retry_after_s
    )


def _format_duration(seconds: int) -> str:
    count, unit = (seconds, "second") if seconds < 90 else (-(-seconds // 60), "minute")
    return f"{count} {unit}{'' if count == 1 else 's'}"


def email_fingerprint(email: str) -> str:
    """Return the SHA-256 of an e-mail address, so that Redis doesn't store the address."""
    return hashlib.sha256(email.strip().lower().encode(errors="surrogatepass")).hexdigest()


@cache
def parse_limit(limit: str) -> RateLimitItem:
    """Parse a limit like `100/minute`."""
    return parse(limit)


def check_proxies(app_configs: Any, **_: Any) -> list[checks.CheckMessage]:
    """Warn when Kebab is behind a proxy that `KEBAB_TRUSTED_PROXIES` doesn't name."""
    if not settings.SECURE_SSL_REDIRECT or settings.KEBAB_TRUSTED_PROXIES:
        return []
    return [
        checks.Warning(
            "KEBAB_HTTPS=1 means a proxy in front, but KEBAB_TRUSTED_PROXIES names none: everybody has the"
            " proxy's address, so that one person's failed sign-ins keep all others out.",
            hint="Give KEBAB_TRUSTED_PROXIES the addresses or networks that the proxy's requests come from.",
            id="kebab.W002",
        )
    ]
