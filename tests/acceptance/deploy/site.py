"""A manual deployment: the processes started by the image's entrypoint, behind HAProxy."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.acceptance.deploy.servers_by_tcp import (
    APP_PASSWORD,
    DEPLOY,
    OWNER_PASSWORD,
    TcpPostgres,
    TcpRedis,
)
from tests.support.image_files import make_application
from tests.support.stack import PATIENCE, GaveUp, eventually, free_port

_ENTRYPOINT = DEPLOY / "image" / "entrypoint.sh"
_STOP_LIMIT_S = 90.0
# The node that has answered a request, for the tests to read.
_TELL = "http-response set-header X-Answered %[srv_name]"
_ROUTES = tuple(f"/w/w{n}/" for n in range(24))


class Part:
    """The process of one container: a role with a data directory and a temporary folder of its own."""

    def __init__(self, folder: Path, role: str, environment: Mapping[str, str]) -> None:
        self.role, self._folder = role, folder
        self.log = folder / "log"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tmp").mkdir(exist_ok=True)
        self.environment = {**environment, "TMPDIR": str(folder / "tmp")}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Return the pid of the process that the entrypoint has become."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Run it in a session of its own, as a container would."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                ["/bin/sh", str(_ENTRYPOINT), self.role],
                env=self.environment,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run the entrypoint with other arguments in the same container, until it ends."""
        command = ["/bin/sh", str(_ENTRYPOINT), *arguments]
        return subprocess.run(
            command,
            env=self.environment,
            cwd=self._folder,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def is_running(self) -> bool:
        """Return whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def ask_to_stop(self) -> None:
        """Send SIGTERM to its first process alone."""
        assert self._process is not None
        self._process.terminate()

    def wait(self) -> int:
        """Wait for its end, and return the exit code."""
        assert self._process is not None
        return self._process.wait(_STOP_LIMIT_S)

    def kill(self) -> None:
        """Kill all of it, like a failing host."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def has_logged(self, text: str) -> bool:
        """Return whether its log contains the text."""
        return self.log.exists() and text in self.log.read_text(errors="replace")


class Proxy:
    """HAProxy with the configuration of deploy/proxy, before one node or two."""

    def __init__(
        self, folder: Path, program: str, nodes: list[str], *, balancers: tuple[str, ...] = ()
    ) -> None:
        self._folder = folder
        self._program = program
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._environment = {
            "KEBAB_LISTEN": f"127.0.0.1:{self.port}",
            "KEBAB_BALANCER": " ".join(balancers),
            "KEBAB_NODE_A": nodes[0],
            "KEBAB_NODE_B": nodes[-1],
        }
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Run it in the foreground. Raises GaveUp."""
        self._folder.mkdir()
        file = self._folder / "haproxy.cfg"
        text = (DEPLOY / "proxy" / "haproxy.cfg").read_text()
        file.write_text(text.replace("    monitor-uri", f"    {_TELL}\n    monitor-uri"))
        with (self._folder / "log").open("wb") as log:
            command = [self._program, "-db", "-f", str(file)]
            self._process = subprocess.Popen(command, env=self._environment, stdout=log, stderr=log)
        eventually(lambda: self._listens() or self._process.poll() is not None, "HAProxy listens", 60)
        if self._process.poll() is not None:
            raise GaveUp(f"HAProxy ended:\n{self.log()}")

    def stop(self) -> None:
        """Stop it."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)

    def log(self) -> str:
        """Return its log."""
        return (self._folder / "log").read_text(errors="replace")

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True


class Site:
    """Servers, two search nodes, a worker, an embedder, a schedule and a proxy, all on this machine.

    Its processes run the contents of the image, and nothing else of the checkout.
    """

    def __init__(self, folder: Path, haproxy: str) -> None:
        self.folder, self.haproxy = folder, haproxy
        self.application = folder / "app"
        self.postgres, self.redis = TcpPostgres(folder), TcpRedis(folder)
        self._ports = {"node-a": free_port(), "node-b": free_port()}
        self.proxy = Proxy(folder / "proxy", haproxy, [self.address(name) for name in self._ports])
        self.parts: dict[str, Part] = {}

    def address(self, node: str) -> str:
        """Return the address of a node's web process."""
        return f"127.0.0.1:{self._ports[node]}"

    def node_for(self, path: str, **headers: str) -> str:
        """Return the node that answers a request through the proxy, with any status."""
        answer = httpx.get(self.proxy.url + path, headers=headers, timeout=60)
        return answer.headers.get("x-answered", "none")

    def routes(self) -> list[str]:
        """Return the nodes that answer for some workspaces."""
        return [self.node_for(path) for path in _ROUTES]

    def start_servers(self) -> None:
        """Run Postgres and Redis, and put the application and `kebab` where the image has them."""
        make_application(self.application)
        (self.folder / "bin").mkdir()
        kebab = self.folder / "bin" / "kebab"
        kebab.write_text((DEPLOY / "image" / "kebab.sh").read_text().replace("/app", str(self.application)))
        kebab.chmod(0o755)
        python = self.folder / "bin" / "python"
        python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        python.chmod(0o755)
        self.postgres.start()
        self.postgres.make_roles()
        self.redis.start()

    def part(self, name: str, role: str, **environment: str) -> Part:
        """Return a part by its name, creating it on first use."""
        if name not in self.parts:
            data = {"KEBAB_DATA_DIR": str(self.folder / name / "data"), "KEBAB_NODE_ID": name}
            settings = {**self.environment(), **data, **environment}
            self.parts[name] = Part(self.folder / name, role, settings)
        return self.parts[name]

    def web(self, node: str) -> Part:
        """Return a node's web process."""
        shared = {"KEBAB_MIRROR_DIR": str(self.folder / f"{node}-mirrors"), "KEBAB_NODE_ID": node}
        port = str(self._ports[node])
        return self.part(f"{node}-web", "web", KEBAB_PORT=port, KEBAB_DRAIN_S="6", **shared)

    def mirror(self, node: str) -> Part:
        """Return a node's mirror process, which has the web process's node id and mirrors."""
        shared = {"KEBAB_MIRROR_DIR": str(self.folder / f"{node}-mirrors"), "KEBAB_NODE_ID": node}
        return self.part(f"{node}-mirror", "mirror", **shared)

    def migration(self) -> Part:
        """Return the process that migrates, as the owner of the tables."""
        return self.part("migrate", "migrate", **self.as_owner())

    def as_owner(self) -> dict[str, str]:
        """Return the additional settings of the tables' owner."""
        return {"KEBAB_OWNER_DATABASE_URL": self.postgres.url("kebab_owner", OWNER_PASSWORD)}

    def environment(self) -> dict[str, str]:
        """Return the settings that compose gives every process."""
        return {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "DATABASE_URL": self.postgres.url("kebab_app", APP_PASSWORD),
            "REDIS_URL": self.redis.url,
            "KEBAB_SECRET_KEY": "signs-sessions-of-a-test-site-0123456789",
            "KEBAB_BLOBS_URL": f"file://{self.folder / 'blobs'}",
            "KEBAB_EMBEDDER": "hash",
            "KEBAB_HOST": "127.0.0.1",
            "KEBAB_WEB_WORKERS": "1",
            "KEBAB_PARSERS": "1",
            "KEBAB_TRUSTED_PROXIES": "127.0.0.1",
            **PATIENCE,
        }

    @contextmanager
    def restart_after(self, *nodes: str) -> Iterator[None]:
        """Restart the web processes that the block stops, and wait until requests reach them as before."""
        before = self.routes()
        try:
            yield
        finally:
            for node in nodes:
                self.web(node).kill()
                self.web(node).start()
            eventually(lambda: self.routes() == before, f"{nodes} are asked again", 180, poll_s=0.5)

    def is_ready(self, node: str) -> bool:
        """Return whether a node is ready."""
        try:
            return httpx.get(f"http://{self.address(node)}/readyz", timeout=5).status_code == 200
        except httpx.HTTPError:
            return False

    def stop(self) -> None:
        """Stop everything."""
        for part in self.parts.values():
            part.kill()
        self.proxy.stop()
        self.redis.stop()
        self.postgres.stop()
