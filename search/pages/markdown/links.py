"""Links and pictures of a rendered document: to neighbours, out of the house, or to nowhere.

Nothing is loaded from another host: a picture from there becomes a link to it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from django.urls import reverse
from markdown_it.token import Token

from search.models import Document, MediaKind
from search.pages.document.media import SHOWN_PICTURES
from search.pages.document.related import Neighbours

_OUTSIDE: Final = frozenset({"http", "https", "mailto"})
#: Before the names of headings, so that none is the id of something else on the page.
HEADING_PREFIX = "h-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Where the links of a document lead."""

    neighbours: Neighbours
    #: The neighbours that are there, by link.
    there: Mapping[str, Document]
    #: Names of the headings that are shown.
    headings: frozenset[str]
    #: The addresses of others by their names.
    elsewhere: Mapping[str, str]

    @classmethod
    def of(
        cls,
        tokens: Sequence[Token],
        neighbours: Neighbours,
        headings: frozenset[str],
        elsewhere: Callable[[], Mapping[str, str]],
    ) -> "Links":
        """Look up, at once, what all links lead to; `elsewhere` is asked where a name is not shown."""
        links = filter(None, map(_link_of, _children(tokens)))
        named = {link for link in links if _scheme(link) is None}
        is_elsewhere = any(link.startswith("#") and _name(link) not in headings for link in named)
        return cls(
            neighbours=neighbours,
            there=neighbours.linked(sorted(named)),
            headings=headings,
            elsewhere=elsewhere() if is_elsewhere else {},
        )

    def address(self, link: str) -> str | None:
        """Return where a link leads; None when nowhere."""
        scheme = _scheme(link)
        if scheme is not None:
            return link if scheme in _OUTSIDE else None
        name = _name(link)
        if link.startswith("#"):
            return f"#{HEADING_PREFIX}{name}" if name in self.headings else self.elsewhere.get(name)
        document = self.there.get(link)
        if document is None:
            return None
        page = self.neighbours.address(document)
        return f"{page}#{HEADING_PREFIX}{name}" if name else page

    def picture(self, link: str) -> str | None:
        """Return the address of a picture that can be shown; None when there is none."""
        document = self.there.get(link)
        if document is None or document.media != MediaKind.IMAGE or document.mime not in SHOWN_PICTURES:
            return None
        return reverse("document-picture", args=[self.neighbours.workspace.slug, document.doc_id])


def _scheme(link: str) -> str | None:
    """Return the scheme of a link to elsewhere, '' for one that names a host alone; None for a
    relative one.
    """
    try:
        parts = urlsplit(link)
    except ValueError:
        return ""
    return parts.scheme if parts.scheme or parts.netloc else None


def _name(link: str) -> str:
    return unquote(urlsplit(link).fragment).lower()


def _children(tokens: Sequence[Token]) -> Iterator[Token]:
    return (child for token in tokens for child in token.children or ())


def _link_of(token: Token) -> str:
    name = {"link_open": "href", "image": "src"}.get(token.type)
    return str(token.attrGet(name) or "") if name else ""


def resolve(tokens: Sequence[Token], links: Links) -> None:
    """Make the links and pictures of inline tokens what is to be written of them."""
    for token in tokens:
        if token.children:
            token.children = list(_resolved(token.children, links))


def _resolved(children: Sequence[Token], links: Links) -> Iterator[Token]:
    ends: list[bool] = []
    for child in children:
        if child.type == "link_open":
            address = links.address(_link_of(child))
            ends.append(address is not None)
            if address is not None:
                yield _anchor(address, str(child.attrGet("title") or ""))
        elif child.type == "link_close":
            if ends.pop():
                yield child
        elif child.type == "image":
            yield from _picture(child, links, is_linked=any(ends))
        else:
            yield child


def _picture(image: Token, links: Links, *, is_linked: bool) -> Iterator[Token]:
    link, said = _link_of(image), image.content.strip()
    shown, address = links.picture(link), links.address(link)
    if shown is not None:
        attributes: dict[str, str | int | float] = {"src": shown, "alt": said, "loading": "lazy"}
        yield Token("picture", "img", 0, attrs=attributes)
        return
    text = Token("text", "", 0, content=said or "picture")
    if address is None or is_linked:
        yield text
        return
    yield _anchor(address, "")
    yield text
    yield Token("link_close", "a", -1)


def _anchor(address: str, title: str) -> Token:
    attributes: dict[str, str | int | float] = {"href": address}
    if _scheme(address):
        attributes["rel"] = "noopener noreferrer nofollow"
    if title:
        attributes["title"] = title
    return Token("link_open", "a", 1, attrs=attributes)
