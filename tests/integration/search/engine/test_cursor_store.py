"""Lists are kept for a while, for their owner, and only so much for each."""

from unittest.mock import patch

import pytest
import redis
from django.conf import settings as django_settings

from kebab.stack import redis_client
from kebab.stack.addresses import redis_client_url
from search.cursor_store import KEEP_S, CursorStore


@pytest.fixture
def client(servers):
    with redis.Redis.from_url(redis_client_url(django_settings.REDIS_URL)) as client:
        yield client


@pytest.fixture
def owner(request, client):
    owner = f"tests:{request.node.name}"
    yield owner
    CursorStore(client).forget(owner)


def test_what_is_kept_is_found_by_its_owner_alone(client, owner):
    store = CursorStore(client)

    assert store.keep(owner, "a", b"list")
    assert store.find(owner, "a") == b"list"
    assert store.find(f"{owner}2", "a") is None
    assert store.find(owner, "b") is None


def test_an_owner_has_room_for_so_many_bytes_until_its_time_is_over(client, owner, settings):
    settings.KEBAB_CURSOR_LIMIT_BYTES = 10
    store = CursorStore(client)

    assert store.keep(owner, "a", b"123456")
    assert not store.keep(owner, "b", b"123456")
    assert store.find(owner, "b") is None
    assert store.keep(owner, "a", b"123456")
    assert store.keep(f"{owner}2", "b", b"123456")
    assert 0 < client.ttl(f"kebab:cursors-of:{owner}") <= KEEP_S
    client.delete(f"kebab:cursors-of:{owner}")
    assert store.keep(owner, "b", b"123456")


def test_what_is_forgotten_is_gone_with_its_count(client, owner):
    store = CursorStore(client)
    store.keep(owner, "a", b"list")
    store.forget(owner)

    assert client.keys(f"kebab:cursor*:{owner}*") == []


@pytest.mark.parametrize(
    "ask", [lambda store: store.keep("owner", "a", b"list"), lambda store: store.find("owner", "a")]
)
def test_a_redis_that_failed_is_left_in_peace_for_a_second(ask, tmp_path, monkeypatch):
    now = 100.0
    monkeypatch.setattr(redis_client, "monotonic", lambda: now)
    store = CursorStore(redis.Redis(unix_socket_path=str(tmp_path / "nothing.sock")))

    with pytest.raises(redis.ConnectionError, match=r"nothing\.sock"):
        ask(store)
    with pytest.raises(redis.ConnectionError, match="a moment ago"):
        ask(store)
    now = 102.0
    with pytest.raises(redis.ConnectionError, match=r"nothing\.sock"):
        ask(store)


def test_a_full_redis_keeps_nothing_and_still_gives_what_it_has(client, owner):
    store = CursorStore(client)
    store.keep(owner, "a", b"list")
    full = redis.exceptions.OutOfMemoryError("OOM command not allowed")
    with patch.object(client, "execute_command", side_effect=full), pytest.raises(redis.RedisError):
        store.keep(owner, "b", b"list")

    assert store.find(owner, "a") == b"list"
