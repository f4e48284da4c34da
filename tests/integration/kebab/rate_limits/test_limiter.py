import itertools
import socket
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from threading import Barrier, BrokenBarrierError
from unittest.mock import patch

import pytest
import redis
from django.conf import settings as configured
from limits import parse
from limits.storage import MemoryStorage

import kebab.settings as shipped  # what the suite hasn't changed
from kebab.http.rate_limits.rules import Limiter, redis_for_limits

THREE = parse("3/minute")


@pytest.fixture
def name():
    return uuid.uuid4().hex


@pytest.fixture
def one_minute(monkeypatch):
    """Let a process that counts alone do so in the middle of a minute."""
    monkeypatch.setattr("limits.storage.memory.time.time", lambda: 1_000_000_010.0)


def new_limiter():
    """Return a limiter as each process has one, with time for a busy machine."""
    return Limiter(redis_for_limits(configured.REDIS_URL, answer_limit_s=5))


def test_two_processes_count_together(servers, name):
    one, other = new_limiter(), new_limiter()

    took = [limiter.hit(THREE, name) for limiter in (one, other, one, other, one)]

    assert took == [True, True, True, False, False]
    assert not other.has_room(THREE, name)
    assert other.has_room(THREE, f"{name} of somebody else")
    assert 1 <= one.retry_after_s(THREE, name) <= 61
    other.reset(THREE, name)
    assert one.hit(THREE, name)


@pytest.mark.parametrize("is_redis_away", [False, True])
def test_uncounted_hit_allows_one_more(servers, name, is_redis_away, one_minute):
    limiter = new_limiter()
    error = redis.ConnectionError("away") if is_redis_away else None
    with patch.object(redis.Redis, "execute_command", side_effect=error) if error else nullcontext():
        for _ in range(3):
            limiter.hit(THREE, name)
        limiter.uncount(THREE, name)

        assert [limiter.hit(THREE, name) for _ in range(2)] == [True, False]


def test_rate_limit_hit_takes_one_redis_command(servers, name):
    limiter = new_limiter()
    limiter.hit(THREE, name)  # by now Redis knows the script
    with patch.object(
        redis.Redis, "execute_command", autospec=True, side_effect=redis.Redis.execute_command
    ) as asked:
        limiter.hit(THREE, name)

    assert [call.args[1] for call in asked.call_args_list] == ["EVALSHA"]


@pytest.mark.parametrize("kind", ["closed", "silent"])
def test_process_without_redis_counts_alone_and_waits_once_for_45_ms_at_most(kind, name, one_minute):
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        if kind == "silent":
            listening.listen()
        address = f"redis://127.0.0.1:{listening.getsockname()[1]}/0"
        client = redis_for_limits(address, answer_limit_s=shipped.KEBAB_COUNT_LIMIT_MS / 1000)
        limits = client.connection_pool.connection_kwargs
        limiter = Limiter(client)
        with patch.object(
            redis.Redis, "execute_command", autospec=True, side_effect=redis.Redis.execute_command
        ) as asked:
            took = [limiter.hit(THREE, name) for _ in range(5)]

    assert took == [True, True, True, False, False]
    assert asked.call_count == 1  # the others did not ask again
    assert limits["socket_connect_timeout"] + limits["socket_timeout"] == pytest.approx(0.045)


def test_a_refusing_redis_is_asked_again_after_a_while(servers, name):
    limiter = new_limiter()
    refuse = redis.exceptions.OutOfMemoryError("OOM command not allowed")
    clock = itertools.chain([0.0, 0.0, 1.0], itertools.repeat(10.0))
    with patch("kebab.stack.servers.redis_client.monotonic", side_effect=lambda: next(clock)):
        with patch.object(redis.Redis, "execute_command", side_effect=refuse):
            assert limiter.hit(THREE, name)  # counted here
            assert limiter.hit(THREE, name)
        assert limiter.has_room(parse("1/minute"), name)  # Redis has counted none of them


def test_threads_share_a_limiter(servers, name):
    limiter, hundred, took = new_limiter(), parse("100/minute"), []

    def hit():
        took.extend(limiter.hit(hundred, name) for _ in range(30))

    with ThreadPoolExecutor(5) as threads:
        for _ in range(5):
            threads.submit(hit)
    assert took.count(True) == 100


class SlowStorage(MemoryStorage):
    """Waits after it has made a timer for another thread that makes one, too, before it starts it."""

    meeting = Barrier(2)

    @property
    def timer(self):
        return self._timer

    @timer.setter
    def timer(self, timer):
        was_made = hasattr(self, "_timer")
        self._timer = timer
        if was_made:
            with suppress(BrokenBarrierError):
                self.meeting.wait(0.2)


def test_threads_share_a_limiter_without_redis(name, monkeypatch):
    monkeypatch.setattr("kebab.http.rate_limits.rules.MemoryStorage", SlowStorage)
    limiter = new_limiter()
    limiter._own.storage.timer.join()
    with (
        patch.object(redis.Redis, "execute_command", side_effect=redis.ConnectionError("away")),
        ThreadPoolExecutor(2) as threads,
    ):
        assert all(threads.map(lambda other: limiter.hit(THREE, name, other), "ab"))
