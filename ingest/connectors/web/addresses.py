"""Addresses of pages in normal form, and the paths of their documents.

Equivalent spellings of an address have the same `key`: escapes only where they are needed, in capitals; no
`.`, `..` or empty names; no fragment; no ids of sessions in the path; of the query the allowed parameters,
sorted.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Final, Self
from urllib.parse import SplitResult, quote, quote_plus, unquote_plus, unquote_to_bytes, urljoin, urlsplit

MAX_ADDRESS_CHARS: Final = 2_000
MAX_KEY_CHARS: Final = 1_000
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_MAX_PARAMETERS = 50
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_ASCII = "".join(map(chr, range(33, 127)))
_ESCAPE = re.compile("%([0-9A-Fa-f]{2})")
_LONE_PERCENT = re.compile("%(?![0-9A-Fa-f]{2})")
# Characters that browsers remove from an address at any position.
_SESSION = re.compile(r"(?:;|%3B)(?:([\w.-]{1,40})(?:=|%3D))?([\w.!~*+-]{1,200})", re.IGNORECASE | re.ASCII)
_SESSION_NAMES = frozenset({"jsessionid", "phpsessid", "sessionid", "session_id", "sessid", "sid"})
# A value that only a program can mean: letters and digits, or hexadecimal digits in groups.
_TOKEN = re.compile(r"(?=[a-z-]*\d)(?=[\d-]*[a-z])(?:[a-z0-9]{16,}|[0-9a-f-]{16,})", re.IGNORECASE)
_DROPPED = {ord(character): None for character in "\t\r\n"}
_HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+")
_MADE_UP = "no-such-page-7f3b9"
_MADE_UP_NUMBER = "987654321"
# Suffixes of page files; any other name is a folder of pages.
_FILE_NAME = re.compile(r"\.(?:x?html?|php|aspx?|jsp|md|txt|pdf|xml)\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """An http or https address without username, password and fragment."""

    scheme: str
    host: str
    port: int
    #: Path and query, beginning with `/`.
    key: str
    #: The same with the session that the server asks for, if there is one.
    session_key: str = ""

    @property
    def url(self) -> str:
        """Return the full address."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.key}"

    @property
    def request_url(self) -> str:
        """Return the full address for requests, which may have a session."""
        return replace(self, key=self.session_key or self.key).url

    @property
    def site(self) -> tuple[str, int]:
        """Return host and port; port 0 for the scheme's default, so that http and https are the same site."""
        return self.host, 0 if self.port == _DEFAULT_PORTS[self.scheme] else self.port

    @property
    def path(self) -> str:
        """Return the path of the document at this address."""
        return document_path(self.key)

    @property
    def without_query(self) -> Self:
        """Return the address for messages: the query of a sitemap may have a token."""
        return self.with_key(self.key.partition("?")[0])

    def with_key(self, key: str) -> Self:
        """Return the address with another key on the same host, which may have a session."""
        path, mark, query = key.partition("?")
        plain = "/".join(_drop_sessions(path.split("/"))) + mark + query
        return replace(self, key=plain, session_key=key if plain != key else "")

    def parameters(self) -> list[tuple[str, str]]:
        """Return the parameters of the query, as they are written: (name, value)."""
        parts = (part.partition("=") for part in self.key.partition("?")[2].split("&") if part)
        return [(name, value) for name, _, value in parts]

    def without(self, *names: str) -> Self:
        """Return the address without some parameters."""
        path, _, query = self.key.partition("?")
        left = "&".join(part for part in query.split("&") if part.partition("=")[0] not in names)
        return self.with_key(f"{path}?{left}" if left else path)

    def made_up(self) -> Self:
        """Return an address like this one that hardly exists."""
        path, _, query = self.key.partition("?")
        if query:
            before, _, value = query.rpartition("=")
            return self.with_key(
                f"{path}?{before or value}={_MADE_UP_NUMBER if value.isdecimal() else _MADE_UP}"
            )
        folder, _, name = path.rpartition("/")
        suffix = _FILE_NAME.search(name)
        return self.with_key(f"{folder}/{_MADE_UP}{suffix[0] if suffix else ''}")


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlScope:
    """The addresses that belong to a source: those of one site below a path."""

    site: tuple[str, int]
    #: A path that ends in `/`.
    prefix: str

    @classmethod
    def below(cls, start: Address) -> Self:
        """Return the scope below a start page: `/docs`, `/docs/` and `/docs/index.html` all mean `/docs/`."""
        path = start.key.partition("?")[0]
        folder, _, name = path.rpartition("/")
        is_folder = bool(name) and _FILE_NAME.search(name) is None
        return cls(site=start.site, prefix=f"{path}/" if is_folder else f"{folder}/")

    @classmethod
    def whole_site(cls, start: Address) -> Self:
        """Return the scope of a whole site."""
        return cls(site=start.site, prefix="/")

    def holds(self, address: Address) -> bool:
        """Return whether the address belongs to the source."""
        path = address.key.partition("?")[0]
        return address.site == self.site and f"{path}/".startswith(self.prefix)


def parse_address(
    text: str, *, base: Address | None = None, parameters: Collection[str] | None = ()
) -> Address | None:
    """Parse an address relative to `base`; None if it is invalid, or not one of http or https.

    `parameters` are the names of query parameters to keep, None for all.
    """
    text = text.translate(_DROPPED).strip()
    if len(text) > MAX_ADDRESS_CHARS:
        return None
    try:
        parts = urlsplit(urljoin(base.url, text) if base is not None else text)
        return _build_address(parts, None if parameters is None else frozenset(parameters))
    except (ValueError, UnicodeError):  # invalid brackets, a port that is no number, surrogates
        return None


def document_path(key: str) -> str:
    """Return the path of the document at `key`, unescaped where that is unambiguous.

    `/` becomes `index.html`, `/docs/` becomes `docs/index.html`; a query stays after its `?`.
    """
    path, mark, query = key.partition("?")
    names = [_unescape_name(name) for name in path.removeprefix("/").split("/")]
    names[-1] = names[-1] or "index.html"
    return "/".join(names) + mark + query


def _build_address(parts: SplitResult, parameters: frozenset[str] | None) -> Address | None:
    host = (parts.hostname or "").rstrip(".")
    if parts.scheme not in _DEFAULT_PORTS or not host or parts.username is not None:
        return None
    host = host if host.isascii() else host.encode("idna").decode("ascii")
    escaped = quote(_LONE_PERCENT.sub("%25", parts.path), safe="/%:@!$&'()*+,;=~")
    names = _resolve_dots(_ESCAPE.sub(_normalize_escape, escaped).split("/"))
    filtered = _filter_query(parts.query, parameters)
    key = "/" + "/".join(names) + (f"?{filtered}" if filtered else "")
    if _HOST.fullmatch(host) is None or len(key) > MAX_KEY_CHARS:
        return None
    port = _DEFAULT_PORTS[parts.scheme] if parts.port is None else parts.port
    return Address(scheme=parts.scheme, host=host, port=port, key="/").with_key(key)


def _drop_sessions(names: list[str]) -> list[str]:
    """Return the names of a path without ids of sessions: `a;jsessionid=1` and `(S(1))` are such."""
    cleaned = [_SESSION.sub(_drop_session, name) if ";" in name or "%3B" in name else name for name in names]
    return [
        name
        for name in cleaned
        if not (name.startswith(("(S(", "(A(", "(F(", "(X(")) and name.endswith("))"))
    ]


def _drop_session(found: re.Match[str]) -> str:
    name, value = (found[1] or "").lower(), found[2]
    is_token = _TOKEN.fullmatch(value) is not None and re.search("^s?$|sess|sid|token", name) is not None
    return "" if is_token or name in _SESSION_NAMES else found[0]


def _normalize_escape(found: re.Match[str]) -> str:
    character = chr(int(found[1], 16))
    return character if character in _UNRESERVED else f"%{found[1].upper()}"


def _resolve_dots(names: list[str]) -> list[str]:
    kept: list[str] = []
    for name in names:
        if name == "..":
            del kept[-1:]
        elif name not in ("", "."):
            kept.append(name)
    is_folder = names[-1] in ("", ".", "..")
    return [*kept, ""] if is_folder and kept else kept


def _filter_query(query: str, parameters: frozenset[str] | None) -> str:
    if not query or parameters == frozenset():
        return ""
    if query.count("&") >= _MAX_PARAMETERS:
        raise ValueError("too many parameters")
    parts = [_normalize_parameter(part) for part in query.split("&") if part]
    if parameters is not None:
        pairs = (part.partition("=") for part in parts)
        parts = [f"{name}={value}" for name, _, value in pairs if unquote_plus(name) in parameters]
    return "&".join(sorted(parts))


def _normalize_parameter(part: str) -> str:
    escaped = (unquote_plus(quote(each, safe=_ASCII), encoding="latin-1") for each in part.partition("="))
    return "".join(quote_plus(each, safe="=" if each == "=" else "", encoding="latin-1") for each in escaped)


def _unescape_name(name: str) -> str:
    """Return a name without its escapes, unless one encodes a character that no name in a path may have."""
    if "%" not in name:
        return name
    try:
        plain = unquote_to_bytes(name).decode("utf-8")
    except UnicodeDecodeError:
        return name
    is_plain = plain.isprintable() and not set(plain) & set("%/\\#?") and plain == plain.strip()
    return unicodedata.normalize("NFC", plain) if is_plain else name


#: A parameter that changed nothing so often, with as many values, is dropped; a single value of it, too.
_TRIALS: Final = 3
# Such files rarely depend on a query: one is tried once there are two of them for a file.
_FILE = re.compile(r"\.(?:x?html?|md|txt|pdf|xml|json|css|js)\Z", re.IGNORECASE)


class QueryParameters:
    """Parameters that tell pages apart, that don't, and that are not known yet."""

    def __init__(self, telling: Iterable[str], *, is_learning: bool) -> None:
        """Take the names that tell the indexed pages apart."""
        self._telling = set(telling)
        self._is_learning = is_learning
        # By name, the value of each trial in which the page was the same without it.
        self._idle: dict[str, list[str]] = defaultdict(list)
        # By path of a file, the first address with a query; None once there was a second.
        self._first: dict[str, Address | None] = {}

    def admit(self, address: Address) -> list[Address]:
        """Return the addresses to request for a link, without the parameters that change nothing."""
        address = self.shorten(address)
        path, _, query = address.key.partition("?")
        if not query or not self._is_learning or _FILE.search(path) is None:
            return [address]
        first = self._first.setdefault(path, address)
        if first == address:
            return [address.with_key(path)]
        self._first[path] = None
        return [address] if first is None else [first, address]

    def shorten(self, address: Address) -> Address:
        """Return the address without the parameters that change nothing, as is known by now."""
        ignored = [name for name, value in address.parameters() if self._is_ignored(name, value)]
        return address.without(*ignored) if ignored else address

    def untold(self, address: Address) -> list[tuple[str, str]]:
        """Return the parameters of an address that have not told pages apart yet."""
        return [pair for pair in address.parameters() if self._is_learning and pair[0] not in self._telling]

    def record(self, name: str, value: str, *, is_same: bool) -> None:
        """Record whether a page was the same without a parameter."""
        if is_same:
            self._idle[name].append(value)
        else:
            self._telling.add(name)

    def _is_ignored(self, name: str, value: str) -> bool:
        values = self._idle.get(name, [])
        if name in self._telling or len(values) < _TRIALS:
            return False
        return value in values or len(set(values)) >= _TRIALS
