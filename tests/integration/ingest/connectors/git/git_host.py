"""A local git host: git's HTTP backend behind the standard library's server."""

import base64
import os
import ssl
import subprocess
import threading
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.http_stub import running


class GitHost(ThreadingHTTPServer):
    """Serves the repositories below a folder; `login` as `user:password` is then asked for.

    With a `context` it speaks TLS.
    """

    daemon_threads = True

    def __init__(self, root: Path, login: str = "", context: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Backend)
        self.scheme = "http" if context is None else "https"
        if context is not None:
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.root = root
        self.authorization = f"Basic {base64.b64encode(login.encode()).decode()}" if login else ""
        #: paths that are answered with a redirect to another address
        self.moved: dict[str, str] = {}
        self.asked: list[str] = []
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.server_port}"

    def handle_error(self, *_: object) -> None:
        """Ignore errors: the tests connect clients that do not trust the certificate."""


class _Backend(BaseHTTPRequestHandler):
    server: GitHost

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self) -> None:
        self.server.asked.append(self.path)
        target = next((to for begin, to in self.server.moved.items() if self.path.startswith(begin)), None)
        if target is not None:
            self._send(301, {"Location": target + self.path}, b"")
        elif self.server.authorization not in ("", self.headers.get("Authorization", "")):
            self._send(401, {"WWW-Authenticate": 'Basic realm="git"'}, b"")
        else:
            self._run_backend()

    def _run_backend(self) -> None:
        split = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        ran = subprocess.run(
            ["git", "http-backend"],  # noqa: S607  # whichever git the tests run with
            input=body,
            capture_output=True,
            check=False,
            env={
                "PATH": os.environ["PATH"],
                "GIT_PROJECT_ROOT": str(self.server.root),
                "GIT_HTTP_EXPORT_ALL": "1",
                "GIT_CONFIG_NOSYSTEM": "1",
                "PATH_INFO": split.path,
                "QUERY_STRING": split.query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(body)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            },
        )
        head, _, content = ran.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
        status = int(headers.pop("Status", "200").split()[0])
        self._send(status, headers, content)

    def _send(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


def git_host(
    root: Path, login: str = "", context: ssl.SSLContext | None = None
) -> AbstractContextManager[GitHost]:
    """Run a host for the length of a block."""
    return running(GitHost(root, login, context))
