"""Scanner of a page's links, canonical address and directives for robots.

It is not a full HTML parser: it takes time linear in the page, and ignores what it does not understand.
"""

import html
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final
from urllib.parse import urljoin

from ingest.connectors.web.addresses import MAX_ADDRESS_CHARS, Address, UrlScope, parse_address

MAX_LINKS: Final = 5_000
# Most elements scanned; ten megabytes of such elements alone would take a quarter of a minute.
_MAX_ELEMENTS = 50_000
_MAX_ATTRIBUTES = 50
_FRAMES: Final = ("frame", "iframe")
_TOKEN = re.compile(
    r"<(?:(!--)|(script|style|textarea|title|xmp|iframe|noembed|noframes|template)(?=[\s/>])"
    r"|(a|area|base|frame|link|meta)(?=[\s/>]))",
    re.IGNORECASE,
)
_ATTRIBUTE = re.compile(
    r"""[\s/]*(?:(>)|([^\s"'>/=][^\s>/=]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>][^\s>]*)))?)"""
)
_REFRESH = re.compile(r"""[0-9.]*\s*[;,]\s*url\s*=\s*["']?([^"']+)""", re.IGNORECASE)


@dataclass(slots=True, kw_only=True)
class PageLinks:
    """The links and directives of a page, as raw text."""

    #: In the order of the page, without `rel=nofollow`.
    links: list[str] = field(default_factory=list)
    canonical: str | None = None
    base: str | None = None
    #: (name, content) of the meta elements for robots.
    robots: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkResolver:
    """A resolver of the raw links of the page at `address` into keys of the source's own pages."""

    address: Address
    #: names of query parameters to keep; None for all
    parameters: Collection[str] | None
    scope: UrlScope

    def keys(self, links: PageLinks) -> list[str]:
        """Return the keys of the pages that a page links to, with sessions, each once, in its order."""
        found = (self._resolve_link(links, link) for link in links.links)
        return list({each.key: each.session_key or each.key for each in found if each is not None}.values())

    def canonical(self, links: PageLinks) -> str:
        """Return the key of a page's canonical address; '' for none, or one outside the source."""
        found = None if links.canonical is None else self._resolve_link(links, links.canonical)
        return "" if found is None else found.key

    def _resolve_link(self, links: PageLinks, link: str) -> Address | None:
        base = links.base or ""
        try:
            text = urljoin(base, link) if len(base) <= MAX_ADDRESS_CHARS else link
        except ValueError:  # invalid brackets
            return None
        found = parse_address(text, base=self.address, parameters=self.parameters)
        return found if found is not None and self.scope.holds(found) else None


def scan_links(text: str, robot: str) -> PageLinks:
    """Scan a page of HTML; `robot` is the crawler's name in meta elements."""
    found = PageLinks()
    for name, attributes in islice(_elements(text), _MAX_ELEMENTS):
        _collect(found, name, attributes, robot)
        if len(found.links) >= MAX_LINKS:
            break
    return found


def _collect(found: PageLinks, name: str, attributes: Mapping[str, str], robot: str) -> None:
    relation = attributes.get("rel", "").lower().split()
    address = attributes.get("src" if name in _FRAMES else "href", "").strip()
    if name in ("a", "area", *_FRAMES) and address and "nofollow" not in relation:
        found.links.append(address)
    elif name == "base" and address:
        found.base = found.base or address
    elif name == "link" and address and "canonical" in relation:
        found.canonical = found.canonical or address
    elif name == "meta":
        named = attributes.get("name", "").strip().lower()
        content = attributes.get("content", "")
        if named in ("robots", robot):
            found.robots.append((named, content))
        elif attributes.get("http-equiv", "").strip().lower() == "refresh":
            leads_to = _REFRESH.match(content.strip())
            if leads_to is not None:
                found.links.append(leads_to[1].strip())


def _elements(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    at = 0
    while (token := _TOKEN.search(text, at)) is not None:
        comment, raw, name = token.groups()
        if comment:
            at = text.find("-->", token.end() - 2)
        elif raw:
            if raw.lower() == "iframe":
                yield "iframe", parse_attributes(text, token.end())[0]
            closing = re.compile(f"</{raw}", re.IGNORECASE).search(text, token.end())
            at = -1 if closing is None else closing.end()
        else:
            attributes, at = parse_attributes(text, token.end())
            yield name.lower(), attributes
        if at < 0:  # an unclosed element hides the rest of the page in browsers too
            return


def parse_attributes(text: str, at: int) -> tuple[dict[str, str], int]:
    """Return the attributes of the tag whose name ends at `at`, and the position after the tag."""
    found: dict[str, str] = {}
    for _ in range(_MAX_ATTRIBUTES):
        attribute = _ATTRIBUTE.match(text, at)
        if attribute is None:
            break
        at = attribute.end()
        closes, name, *values = attribute.groups()
        if closes:
            break
        value = next((value for value in values if value is not None), "")
        found.setdefault(name.lower(), unescape(value))
    return found, at


def unescape(value: str) -> str:
    """Return HTML without its character references."""
    try:
        return html.unescape(value)
    except ValueError:  # a character reference with more digits than Python converts
        return ""
