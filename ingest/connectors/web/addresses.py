"""Addresses of pages in one form each, and the paths that documents get from them.

Two spellings of an address that lead to the same page have the same `key`: escapes only where they are
needed, in capitals; no `.`, `..` or empty names; no fragment; of the query what is allowed, sorted.
"""

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final, Self
from urllib.parse import SplitResult, parse_qsl, quote, unquote_to_bytes, urlencode, urljoin, urlsplit

MAX_ADDRESS_CHARS: Final = 2_000
MAX_KEY_CHARS: Final = 1_000
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_MAX_PARAMETERS = 50
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_ESCAPE = re.compile("%([0-9A-Fa-f]{2})")
_LONE_PERCENT = re.compile("%(?![0-9A-Fa-f]{2})")
# What browsers drop from an address wherever it stands.
_DROPPED = {ord(character): None for character in "\t\r\n"}
_HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+")
# Of a name with one of these behind its last point the page is a file, else a folder of pages.
_FILE_NAME = re.compile(r"\.(?:x?html?|php|aspx?|jsp|md|txt|pdf|xml)\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """An http or https address without name, password and fragment."""

    scheme: str
    host: str
    port: int
    #: Path and query, from the `/` on.
    key: str

    @property
    def url(self) -> str:
        """Return the address as it is asked for."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.key}"

    @property
    def site(self) -> tuple[str, int]:
        """Host and port; the same for http and https where neither names another port than its own."""
        return self.host, 0 if self.port == _DEFAULT_PORTS[self.scheme] else self.port

    @property
    def path(self) -> str:
        """Return the path of the document that this address gives."""
        return document_path(self.key)

    def at(self, key: str) -> Self:
        """Return another address of the same host."""
        return replace(self, key=key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which addresses belong to a source: those of one site below a path."""

    site: tuple[str, int]
    #: Ends in `/`.
    prefix: str

    @classmethod
    def below(cls, start: Address) -> Self:
        """Return what lies below a start page: `/docs`, `/docs/` and `/docs/index.html` all mean `/docs/`."""
        path = start.key.partition("?")[0]
        folder, _, name = path.rpartition("/")
        is_folder = bool(name) and _FILE_NAME.search(name) is None
        return cls(site=start.site, prefix=f"{path}/" if is_folder else f"{folder}/")

    @classmethod
    def whole(cls, start: Address) -> Self:
        """Return all of a site."""
        return cls(site=start.site, prefix="/")

    def holds(self, address: Address) -> bool:
        """Return whether the address belongs to the source."""
        path = address.key.partition("?")[0]
        return address.site == self.site and f"{path}/".startswith(self.prefix)


def read_address(
    text: str, *, base: Address | None = None, parameters: Collection[str] = ()
) -> Address | None:
    """Return the address that `text` is, seen from `base`; None for what is none, or can't be asked for.

    `parameters` are the names that stay in a query.
    """
    text = text.translate(_DROPPED).strip()
    if len(text) > MAX_ADDRESS_CHARS:
        return None
    try:
        parts = urlsplit(urljoin(base.url, text) if base is not None else text)
        return _address(parts, frozenset(parameters))
    except (ValueError, UnicodeError):  # brackets that hold no address, a port that is no number, surrogates
        return None


def document_path(key: str) -> str:
    """Return the path of the document at `key`: readable where that leaves no doubt, escaped where it
    doesn't.

    `/` is `index.html`, `/docs/` is `docs/index.html`; a query stays behind its `?`.
    """
    path, mark, query = key.partition("?")
    names = [_readable(name) for name in path.removeprefix("/").split("/")]
    names[-1] = names[-1] or "index.html"
    return "/".join(names) + mark + query


def _address(parts: SplitResult, parameters: frozenset[str]) -> Address | None:
    host = (parts.hostname or "").rstrip(".")
    if parts.scheme not in _DEFAULT_PORTS or not host or parts.username is not None:
        return None
    host = host if host.isascii() else host.encode("idna").decode("ascii")
    key = _key(parts.path, parts.query, parameters)
    if _HOST.fullmatch(host) is None or len(key) > MAX_KEY_CHARS:
        return None
    port = _DEFAULT_PORTS[parts.scheme] if parts.port is None else parts.port
    return Address(scheme=parts.scheme, host=host, port=port, key=key)


def _key(path: str, query: str, parameters: frozenset[str]) -> str:
    names = _without_dots(_normal_escapes(path).split("/"))
    kept = _kept_query(query, parameters)
    return "/" + "/".join(names) + (f"?{kept}" if kept else "")


def _normal_escapes(path: str) -> str:
    escaped = quote(_LONE_PERCENT.sub("%25", path), safe="/%:@!$&'()*+,;=~")
    return _ESCAPE.sub(_normal_escape, escaped)


def _normal_escape(found: re.Match[str]) -> str:
    character = chr(int(found[1], 16))
    return character if character in _UNRESERVED else f"%{found[1].upper()}"


def _without_dots(names: list[str]) -> list[str]:
    kept: list[str] = []
    for name in names:
        if name == "..":
            del kept[-1:]
        elif name not in ("", "."):
            kept.append(name)
    is_folder = names[-1] in ("", ".", "..")
    return [*kept, ""] if is_folder and kept else kept


def _kept_query(query: str, parameters: frozenset[str]) -> str:
    if not query or not parameters:
        return ""
    pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=_MAX_PARAMETERS)
    return urlencode(sorted(pair for pair in pairs if pair[0] in parameters))


def _readable(name: str) -> str:
    """Return a name without its escapes, unless one of them stands for what no name in a path may hold."""
    if "%" not in name:
        return name
    try:
        plain = unquote_to_bytes(name).decode("utf-8")
    except UnicodeDecodeError:
        return name
    is_plain = plain.isprintable() and not set(plain) & set("%/\\#?") and plain == plain.strip()
    return unicodedata.normalize("NFC", plain) if is_plain else name
