"""Links and pictures of a rendered document: to related documents, to other hosts, or without a target.

Nothing is loaded from another host: a picture there becomes a link.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final
from urllib.parse import unquote, urlsplit

from django.urls import reverse
from markdown_it.token import Token

from search.models import Document, MediaKind
from search.pages.document.media import SHOWN_PICTURES
from search.pages.document.related import RelatedDocuments

_OUTSIDE: Final = frozenset({"http", "https", "mailto"})
#: The prefix of heading ids, so that none equals another id on the page.
HEADING_PREFIX = "h-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """The targets of a document's links."""

    related: RelatedDocuments
    #: The linked documents that exist, by link.
    documents: Mapping[str, Document]
    #: Names of the headings on the page.
    headings: frozenset[str]
    #: Addresses of the document's other headings, by name.
    other_headings: Mapping[str, str]

    @classmethod
    def look_up(
        cls,
        tokens: Sequence[Token],
        related: RelatedDocuments,
        headings: frozenset[str],
        other_headings: Callable[[], Mapping[str, str]],
    ) -> "Links":
        """Look up all targets at once; `other_headings` is called if a heading is not on the page."""
        links = filter(None, map(_link_of, chain.from_iterable(token.children or () for token in tokens)))
        local_links = {link for link in links if _scheme(link) is None}
        is_elsewhere = any(link.startswith("#") and _name(link) not in headings for link in local_links)
        return cls(
            related=related,
            documents=related.find_linked(sorted(local_links)),
            headings=headings,
            other_headings=other_headings() if is_elsewhere else {},
        )

    def address(self, link: str) -> str | None:
        """Return the address of a link's target; None if it has none."""
        scheme = _scheme(link)
        if scheme is not None:
            return link if scheme in _OUTSIDE else None
        name = _name(link)
        if link.startswith("#"):
            return f"#{HEADING_PREFIX}{name}" if name in self.headings else self.other_headings.get(name)
        document = self.documents.get(link)
        if document is None:
            return None
        page = self.related.address(document)
        return f"{page}#{HEADING_PREFIX}{name}" if name else page

    def picture(self, link: str) -> str | None:
        """Return the address of a picture that can be shown; None if there is none."""
        document = self.documents.get(link)
        if document is None or document.media != MediaKind.IMAGE or document.mime not in SHOWN_PICTURES:
            return None
        return reverse("document-picture", args=[self.related.workspace.slug, document.doc_id])


def _scheme(link: str) -> str | None:
    """Return a link's scheme; '' if it has only a host or is invalid, None if it is relative."""
    try:
        parts = urlsplit(link)
    except ValueError:
        return ""
    return parts.scheme if parts.scheme or parts.netloc else None


def _name(link: str) -> str:
    return unquote(urlsplit(link).fragment).lower()


def _link_of(token: Token) -> str:
    name = {"link_open": "href", "image": "src"}.get(token.type)
    return str(token.attrGet(name) or "") if name else ""


def resolve_links(tokens: Sequence[Token], links: Links) -> None:
    """Replace the links and pictures of inline tokens by those to render."""
    for token in tokens:
        if token.children:
            token.children = list(_resolve_children(token.children, links))


def _resolve_children(children: Sequence[Token], links: Links) -> Iterator[Token]:
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
    link, alt = _link_of(image), image.content.strip()
    shown, address = links.picture(link), links.address(link)
    if shown is not None:
        attributes: dict[str, str | int | float] = {"src": shown, "alt": alt, "loading": "lazy"}
        yield Token("picture", "img", 0, attrs=attributes)
        return
    text = Token("text", "", 0, content=alt or "picture")
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
