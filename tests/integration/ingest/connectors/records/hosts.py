"""Real servers that the connectors read: each holds notes by name, and may go away."""

import base64
import hashlib
import imaplib
import select
import socket
import socketserver
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from email.header import Header
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import boto3
from moto.backends import get_backend
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from wsgidav.wsgidav_app import WsgiDAVApp

from tests.integration.ingest.connectors.records.issue_hosts import github_host, gitlab_host
from tests.integration.ingest.connectors.records.web_host import WebHost
from tests.integration.ingest.connectors.records.wiki_host import wiki_host
from tests.support.stack import eventually, free_port


class Host(Protocol):
    """A server with notes."""

    kind: str
    config: Mapping[str, Any]
    #: The config with other credentials.
    wrong_config: Mapping[str, Any]
    #: Requests that fetched the content of a document since the last look.
    fetched: list[str]
    #: The number of further fetches before the server goes away; None: it stays.
    fetches_left: int | None

    def put(self, name: str, text: str) -> None:
        """Add a note, or change it."""
        ...

    def delete(self, name: str) -> None:
        """Delete a note."""
        ...

    def path(self, name: str) -> str:
        """Return the path of the note's document."""
        ...


class S3Host(WebHost):
    """A bucket of moto, which checks signatures."""

    kind = "s3"

    def __init__(self) -> None:
        super().__init__(DomainDispatcherApplication(create_backend_app), _fetches_object)

    def start(self) -> None:
        """Create the bucket and a user who may read it, and have signatures checked from now on."""
        root = {"aws_access_key_id": "root", "aws_secret_access_key": "root", "region_name": "us-east-1"}
        iam = boto3.client("iam", endpoint_url=self.url, **root)
        iam.create_user(UserName="kebab")
        policy = '{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"*","Resource":"*"}}'
        iam.put_user_policy(UserName="kebab", PolicyName="all", PolicyDocument=policy)
        key = iam.create_access_key(UserName="kebab")["AccessKey"]
        login = {"access_key_id": key["AccessKeyId"], "secret_access_key": key["SecretAccessKey"]}
        self.client = boto3.client(
            "s3",
            endpoint_url=self.url,
            aws_access_key_id=key["AccessKeyId"],
            aws_secret_access_key=key["SecretAccessKey"],
            region_name="us-east-1",
        )
        self.client.create_bucket(Bucket="docs")
        self._set_auth("0")
        place = {"url": self.url, "bucket": "docs", "prefix": "team notes"}
        self.config = {**place, "credentials": login}
        self.wrong_config = {**place, "credentials": {**login, "secret_access_key": "other"}}

    def close(self) -> None:
        """Forget what moto holds."""
        self._set_auth("inf")
        self._post("/moto-api/reset")

    def put(self, name: str, text: str) -> None:
        """Add an object."""
        self.client.put_object(Bucket="docs", Key=f"team notes/{name}.md", Body=text.encode())

    def put_directly(self, name: str, text: str) -> None:
        """Add an object without a request, for tests that need many."""
        get_backend("s3")["123456789012"]["aws"].put_object("docs", f"team notes/{name}.md", text.encode())

    def delete(self, name: str) -> None:
        """Delete an object."""
        self.client.delete_object(Bucket="docs", Key=f"team notes/{name}.md")

    def path(self, name: str) -> str:
        """Return the path of the object's document."""
        return f"{name}.md"

    def _set_auth(self, after: str) -> None:
        self._post("/moto-api/reset-auth", after)

    def _post(self, path: str, body: str = "") -> None:
        import requests

        requests.post(f"{self.url}{path}", data=body, timeout=10).raise_for_status()


def _fetches_object(environ: Mapping[str, Any]) -> bool:
    is_object = environ["PATH_INFO"].startswith("/docs/") and not environ["QUERY_STRING"]
    return environ["REQUEST_METHOD"] == "GET" and is_object


@contextmanager
def s3_host() -> Iterator[S3Host]:
    """Run a bucket."""
    host = S3Host()
    with host.running():
        host.start()
        try:
            yield host
        finally:
            host.close()


class WebdavHost(WebHost):
    """A folder that WsgiDAV serves to one user."""

    kind = "webdav"

    def __init__(self, root: Path) -> None:
        self._root = root / "files" / "Team notes"
        self._root.mkdir(parents=True)
        options = {
            "provider_mapping": {"/dav": str(root / "files")},
            "simple_dc": {"user_mapping": {"*": {"ada": {"password": "s3cret"}}}},
            "http_authenticator": {"accept_basic": True, "accept_digest": False, "default_to_digest": False},
            "logging": {"enable": False},
            "verbose": 0,
        }
        super().__init__(WsgiDAVApp(options), lambda environ: environ["REQUEST_METHOD"] == "GET")
        place = {"url": f"{self.url}/dav/Team%20notes"}
        self.config = {**place, "credentials": {"username": "ada", "password": "s3cret"}}
        self.wrong_config = {**place, "credentials": {"username": "ada", "password": "other"}}

    def put(self, name: str, text: str) -> None:
        """Write a file into a folder of its own."""
        file = self._root / self.path(name)
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)

    def delete(self, name: str) -> None:
        """Delete the file."""
        (self._root / self.path(name)).unlink()

    def path(self, name: str) -> str:
        """Return the path of the file."""
        return f"about {name}/{name}.md"


@contextmanager
def webdav_host() -> Iterator[WebdavHost]:
    """Run a WebDAV server."""
    with TemporaryDirectory() as folder:
        host = WebdavHost(Path(folder))
        with host.running():
            yield host


class FeedHost(WebHost):
    """A feed behind a password, as RSS 2.0 or Atom 1.0."""

    kind = "feed"

    def __init__(self) -> None:
        super().__init__(self._serve, self._is_new)
        self.entries: dict[str, str] = {}
        self.template = RSS
        place = {"url": f"{self.url}/feed.xml"}
        self.config = {**place, "credentials": {"username": "ada", "password": "s3cret"}}
        self.wrong_config = {**place, "credentials": {"username": "ada", "password": "other"}}

    def put(self, name: str, text: str) -> None:
        """Add an entry."""
        self.entries[name] = text

    def delete(self, name: str) -> None:
        """Drop an entry from the feed."""
        del self.entries[name]

    @property
    def body(self) -> bytes:
        """Return the feed."""
        head, entry, end = self.template
        entries = (entry.format(name=name, text=escape(text)) for name, text in self.entries.items())
        return (head + "".join(entries) + end).encode()

    def _is_new(self, environ: Mapping[str, Any]) -> bool:
        return environ.get("HTTP_IF_NONE_MATCH") != self._tag

    @property
    def _tag(self) -> str:
        return f'"{hashlib.sha256(self.body).hexdigest()}"'

    def _serve(self, environ: Mapping[str, Any], start_response: Callable[..., Any]) -> Any:
        login = base64.b64encode(b"ada:s3cret").decode()
        if environ.get("HTTP_AUTHORIZATION") != f"Basic {login}":
            start_response("401 Unauthorized", [("Content-Length", "0")])
            return [b""]
        body = self.body if self._is_new(environ) else b""
        status = "200 OK" if body else "304 Not Modified"
        start_response(status, [("ETag", self._tag), ("Content-Length", str(len(body)))])
        return [body]


RSS = (
    '<?xml version="1.0"?><rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel>'
    "<title>News</title>",
    '<item><title>{name} &amp; more</title><guid isPermaLink="false">{name}</guid>'
    "<link>https://example.org/{name}</link><dc:creator>Ada</dc:creator>"
    "<pubDate>Mon, 06 May 2024 10:00:00 GMT</pubDate><description>{text}</description></item>",
    "</channel></rss>",
)
ATOM = (
    '<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>News</title>',
    "<entry><title>{name} &amp; more</title><id>{name}</id><link href='https://example.org/{name}'/>"
    "<author><name>Ada</name></author><updated>2024-05-06T10:00:00Z</updated>"
    "<summary>short</summary><content type='html'>{text}</content></entry>",
    "</feed>",
)


@contextmanager
def feed_host() -> Iterator[FeedHost]:
    """Run a feed."""
    host = FeedHost()
    with host.running():
        yield host


class MailHost:
    """A mailbox of pymap, behind a line that counts fetches and can be cut."""

    kind = "imap"

    def __init__(self, server_port: int) -> None:
        self.fetched: list[str] = []
        self.fetches_left: int | None = None
        self._server_port = server_port
        self._uids: dict[str, str] = {}
        self._line = _Line(("127.0.0.1", 0), _Call)
        self._line.host = self
        place = {"url": f"imap://127.0.0.1:{self._line.server_address[1]}", "folders": ["INBOX"]}
        self.config = {**place, "credentials": {"username": "ada", "password": "s3cret"}}
        self.wrong_config = {**place, "credentials": {"username": "ada", "password": "other"}}
        self.client = imaplib.IMAP4("127.0.0.1", server_port)
        self.client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.client.login("ada", "s3cret")
        self.client.select("INBOX")

    def put(self, name: str, text: str) -> None:
        """Append a mail; a changed one is a new one."""
        if name in self._uids:
            self.delete(name)
        _, (answer, *_) = self.client.append("INBOX", "", "", _mail(name, text))
        self._uids[name] = answer.split(b"]")[0].split()[-1].decode()

    def put_many(self, notes: Mapping[str, str]) -> None:
        """Append mails, many with one command (RFC 3502): the server looks at all others after each."""
        every = list(notes)
        for start in range(0, len(every), 500):
            names = every[start : start + 500]
            mails = [_mail(name, notes[name]) for name in names]
            literals = b"".join(b" {%d+}\r\n%b" % (len(mail), mail) for mail in mails)
            answer = self._command(b"APPEND INBOX" + literals)
            first, last = answer.split(b"]")[0].split()[-1].split(b":")
            uids = range(int(first), int(last) + 1)
            self._uids.update(zip(names, map(str, uids), strict=True))

    def _command(self, command: bytes) -> bytes:
        """Return the line that ends the answer to a command, which imaplib can't build."""
        tag = self.client._new_tag()
        self.client.send(tag + b" " + command + b"\r\n")
        while not (line := self.client.readline()).startswith(tag):
            pass
        return line

    def delete(self, name: str) -> None:
        """Expunge a mail."""
        self.client.uid("STORE", self._uids.pop(name), "+FLAGS", r"(\Deleted)")
        self.client.expunge()

    def path(self, name: str) -> str:
        """Return the path of the mail's document."""
        return f"INBOX/{self._uids[name]}.eml"

    @contextmanager
    def running(self) -> Iterator[None]:
        """Serve during the block."""
        with running_line(self._line):
            yield
        self.client.logout()

    def connect(self) -> socket.socket:
        """Return a connection to the server behind the line."""
        return socket.create_connection(("127.0.0.1", self._server_port))

    def passes(self, sent: bytes) -> bool:
        """Return whether the line passes what a client sent on."""
        if b"BODY.PEEK" in sent:
            self.fetched.append(sent.decode())
            if self.fetches_left is not None:
                self.fetches_left -= 1
        return self.fetches_left is None or self.fetches_left >= 0


def _mail(name: str, text: str) -> bytes:
    subject = Header(name, "utf-8").encode()
    return f"From: ada@example.org\r\nSubject: {subject}\r\n\r\n{text}\r\n".encode()


class _Line(socketserver.ThreadingTCPServer):
    daemon_threads = True
    host: MailHost


class _Call(socketserver.BaseRequestHandler):
    server: _Line

    def handle(self) -> None:
        """Pass bytes on in both directions, until one side has left or the line is cut."""
        host = self.server.host
        with host.connect() as server:
            for each in (self.request, server):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while True:
                ready, _, _ = select.select([self.request, server], [], [])
                for one, other in ((self.request, server), (server, self.request)):
                    if one in ready:
                        data = one.recv(65_536)
                        if not data or (one is self.request and not host.passes(data)):
                            return
                        other.sendall(data)


@contextmanager
def running_line(line: _Line) -> Iterator[None]:
    """Serve a line during the block."""
    thread = threading.Thread(target=line.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        line.shutdown()
        thread.join()
        line.server_close()


@contextmanager
def mail_host() -> Iterator[MailHost]:
    """Run a mailbox."""
    port = free_port()
    program = "from pymap.main import main; main()"
    options = ["--host", "127.0.0.1", "--port", str(port), "--no-tls", "dict"]
    login = ["--demo-user", "ada", "--demo-password", "s3cret"]
    with subprocess.Popen([sys.executable, "-c", program, *options, *login]) as server:
        try:
            eventually(lambda: _answers(port), "the mailbox answers")
            host = MailHost(port)
            with host.running():
                yield host
        finally:
            server.kill()


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


HOSTS: Mapping[str, Callable[[], AbstractContextManager[Any]]] = {
    "s3": s3_host,
    "webdav": webdav_host,
    "feed": feed_host,
    "imap": mail_host,
    "mediawiki": wiki_host,
    "github": github_host,
    "gitlab": gitlab_host,
}
