"""Hostile servers for every kind of source: the answers that its connector expects, and the harm."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from django.conf import settings

from ingest.connectors.records.kinds import RECORD_KINDS
from search.models import SourceKind
from tests.support.hostile_server import HOSTILITIES, Dialect, Exchange, Harm, HostileServer, serving

_LOGIN: Final = {"username": "ada", "password": "s3cret"}


def _issue(number: int, **more: Any) -> bytes:
    at = f"2024-05-06T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z"
    user = {"login": "ada", "name": "Ada"}
    issue = {
        "number": number,
        "iid": number,
        "title": "Tides",
        "body": "",
        "description": "",
        "state": "open",
    }
    return json.dumps(
        [
            issue
            | {"html_url": "https://example.org", "web_url": "https://example.org", "created_at": at}
            | {"updated_at": at, "user": user, "author": user, "comments": 0, "user_notes_count": 0}
            | {"labels": [], "assignees": [], "milestone": None}
            | more
        ]
    ).encode()


def _wiki_page(number: int) -> tuple[Mapping[str, str], bytes]:
    listed = {"recentchanges": [], "pages": [], "tokens": {"logintoken": "1"}}
    goes_on = {"continue": {"gapcontinue": str(number)}}
    return {}, json.dumps({"curtimestamp": "2024-05-06T10:00:00Z", "query": listed, **goes_on}).encode()


def _github_page(number: int) -> tuple[Mapping[str, str], bytes]:
    return {"Link": '<https://example.org>; rel="next"'}, _issue(number)


def _gitlab_page(number: int) -> tuple[Mapping[str, str], bytes]:
    project = json.dumps({"web_url": "https://example.org"}).encode()
    return {"X-Next-Page": str(number)}, project if number == 1 else _issue(number)


def _folder(number: int) -> tuple[Mapping[str, str], bytes]:
    folders = (f"/{number - 1}/" if number > 1 else "/", f"/{number}/")
    kind = "<d:propstat><d:prop><d:resourcetype><d:collection/></d:resourcetype></d:prop></d:propstat>"
    listed = "".join(f"<d:response><d:href>{each}</d:href>{kind}</d:response>" for each in folders)
    return {}, f'<d:multistatus xmlns:d="DAV:">{listed}</d:multistatus>'.encode()


def _bucket(number: int) -> tuple[Mapping[str, str], bytes]:
    goes_on = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{number}</NextContinuationToken>"
    return {}, f"<ListBucketResult>{goes_on}</ListBucketResult>".encode()


def _site_page(number: int) -> tuple[Mapping[str, str], bytes]:
    return {}, f'<!doctype html><title>Tides</title><a href="/{number}">More</a>'.encode()


_XML: Final = {"mime": "application/xml", "crumb": b"<a/>", "nest": b"<a>"}
DIALECTS: Final[Mapping[str, Dialect]] = {
    "webdav": Dialect(
        **_XML,
        status="207 Multi-Status",
        opening=b'<d:multistatus xmlns:d="DAV:">',
        item=b"<d:response><d:href>/tides.md</d:href></d:response>",
        page=_folder,
    ),
    "s3": Dialect(
        **_XML,
        opening=b"<ListBucketResult>",
        item=b"<Contents><Key>tides.md</Key></Contents>",
        page=_bucket,
    ),
    "feed": Dialect(
        mime="application/rss+xml",
        opening=b'<rss version="2.0"><channel>',
        item=b"<item><title>Tides</title><guid>tides</guid></item>",
        crumb=b"<item/>",
        nest=b"<item>",
        page=lambda number: ({}, b'<rss version="2.0"><channel><item/></channel></rss>'),
    ),
    "mediawiki": Dialect(opening=b'{"query": {"pages": [', page=_wiki_page),
    "github": Dialect(page=_github_page),
    "gitlab": Dialect(page=_gitlab_page),
    "web": Dialect(
        missing=("/robots.txt",),
        mime="text/html",
        opening=b"<!doctype html><title>Tides</title>",
        item=b'<p>About <a href="/tides">tides</a></p>',
        crumb=b"<p>",
        nest=b"<div>",
        page=_site_page,
    ),
    # Of a web site that is hostile from the first request on.
    "robots": Dialect(
        mime="text/plain",
        opening=b"User-agent: *\n",
        item=b"Disallow: /tides/*/high$\n",
        crumb=b"Disallow: /*\n",
        nest=b"Disallow: /*a",
        page=lambda number: ({}, b"User-agent: *\nCrawl-delay: 1000000"),
    ),
    "git": Dialect(
        mime="application/x-git-upload-pack-advertisement",
        opening=b"001e# service=git-upload-pack\n0000",
        item=b"003d" + b"1" * 40 + b" refs/heads/tides\n",
        crumb=b"0005a",
        nest=b"0000",
        page=lambda number: ({}, b"001e# service=git-upload-pack\n00000000"),
    ),
}
_PLACES: Final = {
    "mediawiki": "/api.php",
    "github": "/sea/notes",
    "gitlab": "/sea/notes",
    "git": "/notes.git",
    "web": "/",
}


def _flood(exchange: Exchange, tag: bytes) -> None:
    exchange.send_for_ever(b"* OK tide\r\n")


def _long_line(exchange: Exchange, tag: bytes) -> None:
    exchange.send_for_ever(b"* OK tide")


def _slow_line(exchange: Exchange, tag: bytes) -> None:
    exchange.drip(b"* OK tide")


def _slow_lines(exchange: Exchange, tag: bytes) -> None:
    exchange.drip(b"* OK\r\n")


def _silence(exchange: Exchange, tag: bytes) -> None:
    exchange.hang()


def _huge_literal(exchange: Exchange, tag: bytes) -> None:
    exchange.send(b"* 1 FETCH (UID 1 BODY[] {4000000000}\r\n")
    exchange.send_for_ever(b"tide")


def _many_literals(exchange: Exchange, tag: bytes) -> None:
    exchange.send_for_ever(b"* 1 FETCH (UID 1 BODY[] {500000}\r\n" + b"t" * 500_000 + b")\r\n")


def _deep(exchange: Exchange, tag: bytes) -> None:
    exchange.send(
        b"* 1 FETCH " + b"(" * 100_000 + b"\r\n* LIST " + b"(" * 100_000 + b"\r\n" + tag + b" OK done\r\n"
    )


def _garbage(exchange: Exchange, tag: bytes) -> None:
    exchange.send_for_ever(bytes(range(256)))


def _hang_up(exchange: Exchange, tag: bytes) -> None:
    raise ConnectionAbortedError


def _endless_numbers(exchange: Exchange, tag: bytes) -> None:
    exchange.send(b"* STATUS INBOX (UIDVALIDITY 1 UIDNEXT 4294967295 MESSAGES 1)\r\n")
    exchange.send(b"* SEARCH\r\n" + tag + b" OK done\r\n")


_ANSWERS: Final = {
    b"CAPABILITY": b"* CAPABILITY IMAP4rev1",
    b"LIST": b'* LIST () "/" INBOX',
    b"STATUS": b"* STATUS INBOX (UIDVALIDITY 1 UIDNEXT 4 MESSAGES 3)",
    b"SEARCH": b"* SEARCH 1 2 3",
    b"FETCH": b"* 1 FETCH (UID 1 RFC822.SIZE 100)",
}


def _mailbox(harm: Callable[[Exchange, bytes], None], *places: bytes) -> Harm:
    """Return the harm of a mailbox that does it at the commands in `places` and answers all others."""

    def serve(exchange: Exchange) -> None:
        exchange.server.requested.append("a connection")
        if b"" in places:
            harm(exchange, b"")
        exchange.send(b"* OK ready\r\n")
        while line := exchange.rfile.readline():
            tag, *words = line.upper().split()
            exchange.server.requested.append(line.decode())
            command = words[1] if words[0] == b"UID" else words[0]
            if command in places:
                harm(exchange, tag)
            else:
                exchange.send(_ANSWERS.get(command, b"* OK") + b"\r\n" + tag + b" OK done\r\n")

    return serve


_MAILBOX_HARMS: Final = (
    *(_flood, _long_line, _slow_line, _slow_lines, _silence, _huge_literal, _many_literals, _deep),
    *(_garbage, _hang_up),
)
MAILBOXES: Final[Mapping[str, Harm]] = {
    f"{harm.__name__.strip('_').replace('_', '-')}-at-{places[0].decode().lower() or 'greeting'}": _mailbox(
        harm, *places
    )
    for harm in _MAILBOX_HARMS
    for places in ((b"",), (b"LOGIN",), (b"LIST", b"EXAMINE", b"FETCH"))
} | {"endless-numbers": _mailbox(_endless_numbers, b"STATUS", b"SEARCH")}

_START: Final = '{"type": "start", "protocol": "kebab.connector.v1"}'
PROGRAMS: Final[Mapping[str, str]] = {
    "endless-line": "while True: print('tide' * 10_000, end='')",
    "endless-records": """n = 0
while True:
    n += 1
    print(json.dumps({"type": "document", "path": f"{n}.md", "text": "Tides"}))""",
    "deep": "print('[' * 1_000_000)",
    "silence": "time.sleep(600)",
    "silent-but-busy": "while True: pass",
    "flood-of-remarks": "while True: print('tide' * 1_000, file=sys.stderr)",
    "hang-up": "os.kill(os.getpid(), 9)",
}


def _rules(rules: bytes) -> Harm:
    """Return the harm of answering every request with these rules for robots."""

    def serve(exchange: Exchange) -> None:
        while exchange.read_request():
            exchange.begin(Content_Length=len(rules))
            exchange.send(rules)

    return serve


_RULES: Final[Mapping[str, Harm]] = {
    "a-million-rules": _rules(b"User-agent: *\n" + b"Disallow: /a\n" * 1_000_000),
    "as-many-rules-as-are-read": _rules(b"User-agent: *\n" + b"Disallow: /a\n" * 38_000),
    "rules-that-backtrack": _rules(b"User-agent: *\nDisallow: /" + b"*/" * 200 + b"x$\n"),
    "many-robots": _rules(b"User-agent: a\nDisallow: /a\n" * 18_000),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A hostile server, and the config of a source that reads from it."""

    config: Mapping[str, Any]
    server: HostileServer | None = None

    @property
    def is_reached(self) -> bool:
        """Return whether the source has made a request."""
        return self.server is None or bool(self.server.requested)


def hostilities(kind: str) -> Mapping[str, Any]:
    """Return the hostilities that are played against a kind."""
    own = {SourceKind.IMAP: MAILBOXES, SourceKind.PROGRAM: PROGRAMS, "robots": {**HOSTILITIES, **_RULES}}
    return own.get(kind, HOSTILITIES)


@contextmanager
def hostile_target(kind: str, hostility: str, folder: Path) -> Iterator[Target]:
    """Run a server of a kind, known or new, that is hostile in one way."""
    harm = hostilities(kind)[hostility]
    if kind == SourceKind.PROGRAM:
        script = folder / "program.py"
        script.write_text(f"import json, os, sys, time\nprint({_START!r}, flush=True)\n{harm}\n")
        settings.KEBAB_CONNECTORS = {"tides": [sys.executable, str(script)]}
        yield Target(config={"program": "tides", "credentials": {}})
        return
    with serving(harm, DIALECTS.get(kind, Dialect())) as server:
        url = f"imap://127.0.0.1:{server.port}" if kind == SourceKind.IMAP else server.url
        yield Target(config=_config(kind, f"{url}{_PLACES.get(kind, '')}"), server=server)


def _config(kind: str, url: str) -> Mapping[str, Any]:
    if kind not in RECORD_KINDS:
        return {"url": url}
    fields = RECORD_KINDS[kind].fields
    required = {field.name: "docs" for field in fields if field.is_required and not field.is_credential}
    needs_login = any(field.is_required and field.is_credential for field in fields)
    return {**required, "url": url, "credentials": _LOGIN if needs_login else {}}
