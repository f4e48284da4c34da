"""Ranked lists are stored for a limited time, for their owner, and in a limited number."""

from unittest.mock import patch

import pytest
import redis
from django.conf import settings as django_settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from kebab.stack.servers import redis_client
from kebab.stack.servers.addresses import redis_client_url
from search.engine.cursors import RETENTION_S, CursorStore


@pytest.fixture
def client(servers):
    with redis.Redis.from_url(redis_client_url(django_settings.REDIS_URL)) as client:
        yield client


@pytest.fixture
def owner(request, client):
    owner = f"tests:{request.node.name}"
    yield owner
    CursorStore(client).delete(owner)


def test_list_is_found_by_its_owner_alone_until_it_is_forgotten(client, owner):
    store = CursorStore(client)
    assert store.store(owner, "a", b"list")
    assert store.find(owner, "a") == b"list"
    assert store.find(f"{owner}2", "a") is None
    assert store.find(owner, "b") is None
    store.delete(owner)
    assert client.keys(f"kebab:cursor*:{owner}*") == []  # with its count


def test_stored_lists_of_an_owner_are_limited_in_bytes(client, owner, settings):
    settings.KEBAB_CURSOR_LIMIT_BYTES = 10
    store = CursorStore(client)
    assert store.store(owner, "a", b"123456")
    assert not store.store(owner, "b", b"123456")
    assert store.find(owner, "b") is None
    assert store.store(owner, "a", b"123456")
    assert store.store(f"{owner}2", "b", b"123456")
    assert 0 < client.ttl(f"kebab:cursors-of:{owner}") <= RETENTION_S
    client.delete(f"kebab:cursors-of:{owner}")
    assert store.store(owner, "b", b"123456")


def test_failed_redis_is_not_asked_again_for_a_second(tmp_path, monkeypatch):
    now = 100.0
    monkeypatch.setattr(redis_client, "monotonic", lambda: now)
    socket = str(tmp_path / "nothing.sock")
    for ask in (lambda store: store.store("owner", "a", b"list"), lambda store: store.find("owner", "a")):
        store = CursorStore(redis.Redis(unix_socket_path=socket, retry=Retry(NoBackoff(), 0)))
        for seconds, is_asked in ((0.0, True), (0.0, False), (2.0, True)):
            now += seconds
            with pytest.raises(redis.ConnectionError) as refused:
                ask(store)
            assert ("nothing.sock" in str(refused.value)) is is_asked


def test_full_redis_refuses_new_lists_and_returns_stored_ones(client, owner):
    store = CursorStore(client)
    store.store(owner, "a", b"list")
    full = redis.exceptions.OutOfMemoryError("OOM command not allowed")
    with patch.object(client, "execute_command", side_effect=full), pytest.raises(redis.RedisError):
        store.store(owner, "b", b"list")
    assert store.find(owner, "a") == b"list"
