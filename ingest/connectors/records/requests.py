"""Settings of record connectors, and their requests to one HTTP server, with retries."""

import math
import random
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from django.conf import settings
from django.utils.translation import gettext as _

from ingest.connectors.errors import (
    NOTHING_THERE,
    UNEXPECTED_ANSWER,
    WRONG_CREDENTIALS,
    ListingFailed,
    SourceAway,
)
from ingest.connectors.web.addresses import Address, parse_address
from ingest.errors import AddressNotAllowed
from kebab.http_client.connections import (
    AddressRefused,
    RequestFailed,
    ResponseTooLarge,
    is_explicit_address,
    mask_address,
    resolve_permitted,
)
from kebab.http_client.endpoint import Fetcher
from kebab.sandbox.program import report_progress


class ByteBudget:
    """The bytes that a server may still send; each document that it lists adds some."""

    def __init__(self, server: str, *, most_documents: int) -> None:
        self._server = server
        self._most_documents = most_documents
        self._spent_bytes = 0
        self._most_bytes = 0
        self._documents = 0
        self._bytes_per_document = 0

    def start(self, most_bytes: int, *, bytes_per_document: int = 0) -> None:
        """Start an act."""
        self._spent_bytes, self._documents = 0, 0
        self._most_bytes, self._bytes_per_document = most_bytes, bytes_per_document

    def spend(self, size_bytes: int) -> None:
        """Count what the server has sent. Raises ListingFailed when it is more than the act may take."""
        self._spent_bytes += size_bytes
        most_bytes = self._most_bytes + self._documents * self._bytes_per_document
        if self._spent_bytes > most_bytes:
            listed = f" for {self._documents:,} documents" if self._bytes_per_document else ""
            raise ListingFailed(
                f"{self._server} sends more than the {most_bytes:,} bytes that are read{listed}."
            )

    def earn(self, documents: int) -> None:
        """Count documents that the server has listed. Raises ListingFailed for too many."""
        self._documents += documents
        if self._documents > self._most_documents:
            raise ListingFailed(f"{self._server} lists more than {self._most_documents:,} documents.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderLimits:
    """Limits of what a reader takes from its server, and of its patience."""

    #: of one HTTP request; a command of IMAP has five times as long
    request_s: float = 60.0
    #: pauses before a request is repeated, longer if the server asks for it
    pauses_s: Sequence[float] = (1.0, 4.0, 16.0)
    #: after so many documents in a row that the server fails at, it is away
    broken_in_a_row: int = 20
    #: a program that prints nothing for this long is ended
    silence_s: float = 600.0
    #: of one answer of a listing
    answer_bytes: int = 32 * 1024**2
    #: of a listing beside those that each listed document adds, and of a document beside its own
    spare_bytes: int = 256 * 1024**2
    bytes_per_document: int = 64 * 1024
    #: that each request counts beside its answer
    bytes_per_request: int = 4 * 1024
    #: of a listing until its first document
    probe_bytes: int = 40 * 1024**2
    #: of one listing
    documents: int = 5_000_000
    #: issues of a page; the most that GitHub and GitLab return
    page_items: int = 100
    #: sources that list what has changed, but not all that is deleted, are listed whole this often
    relist_after_s: float = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderSettings:
    """The settings of a source, for one job."""

    config: Mapping[str, Any]
    credentials: Mapping[str, str]
    private_hosts: Collection[str]
    user_agent: str
    limits: ReaderLimits
    budget: ByteBudget

    @property
    def server(self) -> Address:
        """Return the server at `url`. Raises AddressNotAllowed."""
        return parse_server(self.config["url"])


def parse_server(url: str, *, keeps_query: bool = False) -> Address:
    """Parse the address of an HTTP server. Raises AddressNotAllowed."""
    address = parse_address(url, parameters=None if keeps_query else ())
    if address is None:
        # The message does not repeat the address, which may contain a password.
        raise AddressNotAllowed(
            _("Enter an address that starts with http:// or https://, without user name and password.")
        )
    return address


def check_server(config: Mapping[str, Any], *, keeps_query: bool = False) -> dict[str, Any]:
    """Return the config with its `url` in normal form. Raises AddressNotAllowed."""
    address = parse_server(config["url"], keeps_query=keeps_query)
    check_host(address.host, address.port)
    return {**config, "url": address.url}


def check_host(host: str, port: int) -> None:
    """Check a host that is given as an IP address. Raises AddressNotAllowed if it may not be reached.

    Host names are resolved and checked at every connection.
    """
    if not is_explicit_address(host):
        return
    try:
        resolve_permitted(host, port, settings.KEBAB_PRIVATE_HOSTS)
    except (AddressRefused, RequestFailed) as error:
        raise AddressNotAllowed(f"The server {error}.") from error


_MAX_PAUSE_S: Final = 120.0
_UNAVAILABLE: Final = frozenset({408, 429, 500, 502, 503, 504})
_REFUSALS: Final = frozenset({401, 403})
_NOT_FOUND: Final = frozenset({404, 410})
# Of a refusal, which may be about a limit that no header names.
_REMARK_BYTES: Final = 2_000
_HEADERS: Final = (
    *("etag", "last-modified", "location", "retry-after", "link", "x-next-page"),
    *("x-ratelimit-remaining", "x-ratelimit-reset"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A whole response; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    #: values by name of the cookies that it sets
    cookies: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_rate_limited(self) -> bool:
        """Return whether the server refuses it because there were too many requests; some do so with 403."""
        is_spent = self.headers.get("x-ratelimit-remaining") == "0" or bool(self.headers.get("retry-after"))
        says_so = b"rate limit" in self.body[:_REMARK_BYTES].lower()
        return self.status == 429 or (self.status == 403 and (is_spent or says_so))

    @property
    def wait_s(self) -> float:
        """Return the seconds that the server asks to wait before the next request; 0 if it names none."""
        if wait_s := _seconds(self.headers.get("retry-after", "")):
            return wait_s
        resets_at = _seconds(self.headers.get("x-ratelimit-reset", ""))
        return max(0.0, resets_at - time.time()) if self.is_rate_limited and resets_at else 0.0


class DocumentRefused(OSError):
    """The server refuses a document."""

    def __init__(self, message: str, answer: Answer) -> None:
        super().__init__(message)
        self.answer = answer


class _AnswerTooLarge(ListingFailed):
    """The answer has more bytes than are read."""


class _RequestBroken(SourceAway):
    """The server fails at this request, but perhaps not at others."""


class ServerRequests:
    """Requests to one server, whose host must be a permitted one at every connection."""

    def __init__(self, server: Address, settings: ReaderSettings) -> None:
        self._server = server
        self._limits = settings.limits
        self._budget = settings.budget
        self._broken_in_a_row = 0
        # The arguments of the last request that was answered.
        self._answered: Any = None
        self._fetcher = Fetcher(
            headers={"User-Agent": settings.user_agent},
            private_hosts=settings.private_hosts,
            on_bytes=self._budget.spend,
        )

    def request(
        self,
        method: str,
        key: str,
        *,
        limit_bytes: int | None = None,
        headers: Callable[[], Mapping[str, str]] = dict,
        content: bytes | None = None,
    ) -> Answer:
        """Return the response for a path and query, after retries.

        `headers` is called for each try, because a signature holds for a time. Raises SourceAway, and
        ListingFailed for an answer of more than `limit_bytes`, by default those of a listing's page, or
        headers that can't be sent.
        """
        limit_bytes = self._limits.answer_bytes if limit_bytes is None else limit_bytes
        for pause_s in (*self._limits.pauses_s, None):
            try:
                answer = self._send(method, key, limit_bytes, headers(), content)
            except ResponseTooLarge as error:
                raise _AnswerTooLarge(f"The answer of {self._server.host} {error}.") from error
            except RequestFailed as error:
                reason, wait_s, is_refused = str(error), 0.0, isinstance(error, AddressRefused)
                pause_s = None if is_refused else pause_s
            else:
                is_refused = answer.is_rate_limited
                if answer.status not in _UNAVAILABLE and not is_refused:
                    if method != "POST":
                        self._answered = method, key, limit_bytes, headers, content
                    return answer
                reason, wait_s = f"answers {answer.status}", answer.wait_s
                if is_refused and wait_s > _MAX_PAUSE_S:
                    # Requests before that count against the limit, too.
                    reason, pause_s = f"limits requests; sync again in {math.ceil(wait_s / 60)} minutes", None
            if pause_s is None:
                raise (SourceAway if is_refused else _RequestBroken)(f"{self._server.host} {reason}.")
            pause(max(pause_s, min(wait_s, _MAX_PAUSE_S)))
        raise AssertionError

    def fetch(self, key: str, *, limit_bytes: int, headers: Callable[[], Mapping[str, str]] = dict) -> bytes:
        """Return the bytes of a document. Raises FileNotFoundError, OSError, SourceAway."""
        return self.fetch_answer(key, limit_bytes=limit_bytes, headers=headers).body

    def fetch_answer(
        self, key: str, *, limit_bytes: int, headers: Callable[[], Mapping[str, str]] = dict
    ) -> Answer:
        """Return the response with the bytes of a document. Raises FileNotFoundError, OSError, SourceAway."""
        try:
            answer = self.request("GET", key, limit_bytes=limit_bytes, headers=headers)
        except _AnswerTooLarge as error:
            raise OSError(str(error)) from error
        except _RequestBroken as error:
            self._broken_in_a_row += 1
            if self._broken_in_a_row >= self._limits.broken_in_a_row or not self._still_answers():
                raise
            raise OSError(str(error)) from error
        self._broken_in_a_row = 0
        if answer.status in _NOT_FOUND:
            raise FileNotFoundError(key)
        if answer.status == 401:
            raise SourceAway(WRONG_CREDENTIALS % {"host": self._server.host, "remark": " (401)"})
        if answer.status != 200:
            raise DocumentRefused(f"{self._server.host} answers {answer.status}.", answer)
        return answer

    def fail_listing(self, answer: Answer, detail: str = "") -> NoReturn:
        """Raise ListingFailed for a response that is no listing."""
        host, remark = self._server.host, f" ({answer.status}{f', {detail}' if detail else ''})"
        parts = {"host": host, "remark": remark}
        if answer.status in _REFUSALS:
            raise ListingFailed(WRONG_CREDENTIALS % parts)
        if answer.status in _NOT_FOUND:
            raise ListingFailed(NOTHING_THERE % parts)
        if location := answer.headers.get("location", ""):
            target = mask_address(location, keeps_path=True)[:200]
            raise ListingFailed(f"{host} leads to {target}{remark}; give that address.")
        raise ListingFailed(UNEXPECTED_ANSWER % parts)

    def close(self) -> None:
        """Close the pooled connections."""
        self._fetcher.close()

    def _still_answers(self) -> bool:
        """Return whether the server answers the last request again that it answered."""
        if self._answered is None:
            return False
        method, key, limit_bytes, headers, content = self._answered
        try:
            return self._send(method, key, limit_bytes, headers(), content).status not in _UNAVAILABLE
        except RequestFailed as error:
            return isinstance(error, ResponseTooLarge)

    def _send(self, method: str, key: str, limit_bytes: int, headers: Any, content: bytes | None) -> Answer:
        if not all(value.isascii() and value.isprintable() for value in headers.values()):
            raise ListingFailed(
                f"A setting or credential for {self._server.host} has a character that can't be sent, perhaps"
                " an invisible one; enter it again."
            )
        self._budget.spend(self._limits.bytes_per_request)
        with self._fetcher.send(
            self._server.with_key(key).request_url,
            method=method,
            content=content,
            limit_s=self._limits.request_s,
            headers=headers,
            on_wait=report_progress,
        ) as response:
            body = response.read(limit_bytes)
            if response.header("content-encoding"):
                self._budget.spend(len(body))  # counted packed until here
            return Answer(
                status=response.status,
                headers={name: response.header(name) for name in _HEADERS},
                body=body,
                cookies=dict(map(_parse_cookie, response.headers("set-cookie"))),
            )


def pause(seconds: float) -> None:
    """Wait for about `seconds`."""
    report_progress()
    time.sleep(seconds * random.uniform(0.75, 1.25))  # noqa: S311  # jitter, not a secret


def _seconds(value: str) -> float:
    """Return the seconds that a header names; 0.0 for anything but a whole number."""
    return float(value) if value.isascii() and value.isdecimal() and len(value) < 12 else 0.0


def _parse_cookie(header: str) -> tuple[str, str]:
    """Return the name and the value that a Set-Cookie header sets."""
    name, _, value = header.partition(";")[0].partition("=")
    return name.strip(), value.strip()


# Elements and attributes, with texts of their own they take up to 240 bytes of memory each.
_MAX_NODES: Final = 1_500_000


def parse_xml(content: bytes, host: str, root_name: str) -> Any:
    """Return the root element. Raises ListingFailed if its name, in any namespace, is not `root_name`."""
    refuse_many_nodes(content, host)
    from lxml import etree  # type: ignore[import-untyped]  # lxml has no types

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True)
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise ListingFailed(f"{host} does not answer with XML: {error.msg}.") from error
    if root.getroottree().docinfo.doctype:
        raise ListingFailed(f"{host} answers XML with a document type, which is not read.")
    if (name := etree.QName(root).localname) != root_name:
        raise ListingFailed(f"{host} answers XML with <{name[:100]}> in place of <{root_name}>.")
    return root


def refuse_many_nodes(content: bytes, host: str) -> None:
    """Raise ListingFailed for XML with more elements and attributes than may be parsed."""
    elements = content.count(b"<") - content.count(b"</")
    if elements + content.count(b"=") > _MAX_NODES:
        raise ListingFailed(f"{host} answers XML of more than {_MAX_NODES:,} elements and attributes.")
