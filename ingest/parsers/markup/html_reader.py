"""Reader of HTML pages: each run of text with its element, its lines in the file and its part of the page.

The standard library's parser is used because it alone reports positions in the source.
"""

import json
import re
from dataclasses import dataclass
from enum import IntFlag
from functools import lru_cache
from html.parser import HTMLParser
from types import MappingProxyType
from typing import Any

from ingest.parsers.types import LineSpan

#: elements without readable text
UNREAD = frozenset(
    {"script", "style", "template", "noscript", "svg", "iframe", "object", "select", "textarea", "button"}
)
#: elements of the site, not of the page
SITE = frozenset({"nav", "footer", "dialog"})
#: elements that may be skipped by their attributes; others may end without an end tag
NAMED = frozenset({"div", "section", "aside", "header", "ul", "ol", "a", "span", "td", "form", "pre"})
#: elements that may be skipped by id too; ids of sections, cells and anchors are generated from titles
NAMED_BY_ID = frozenset({"div", "aside", "header", "ul", "ol", "form"})
SITE_ROLES = frozenset({"navigation", "search", "contentinfo", "dialog", "alertdialog", "menu", "menubar"})
#: classes and ids that documentation generators give to elements outside the page's text
SITE_NAMES = re.compile(
    r"nav(?:header|footer)|footer|headerlink|hash-link|heading-anchor|header-anchor|anchorjs-link|permalink|copybtn|copy-button|linenos?|lnt|rouge-gutter"
    r"|sphinxsidebar\w*|related|sidebar|side-?nav|md-sidebar\S*|bd-sidebar\S*|bd-toc\S*|wy-nav-(?:side|top)|toc"
    r"|toc-drawer|toc-container|table-of-contents\S*|on-this-page|theme-doc-(?:sidebar|toc|footer|breadcrumbs)\S*"
    r"|pagination-nav|breadcrumbs?|prev-next-\S*|(?:theme-)?edit-this-page|md-(?:header|footer|tabs|search|skip)\S*"
    r"|(?:site|page|global)-(?:header|footer|nav)|navbar|mobile-header|skip-?(?:link|to)\S*|visually-hidden|sr-only"
    r"|(?:cookie|consent|gdpr|onetrust|newsletter|social|share)(?:[-_]\S*|s|banner|bar)?|VPNav|VPSidebar|VPDocAside"
    r"|VPDocFooter|VPLocalNav",
    re.IGNORECASE,
)
HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
BLOCK_NAMES = """
address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption
figure footer form header hgroup hr html legend li main menu nav ol p pre section summary table tbody
td tfoot th thead title tr ul
"""
BLOCKS = frozenset(BLOCK_NAMES.split())
ROW_ENDS = frozenset({"tr", "table", "tbody", "thead", "body", "html"})
CELLS = frozenset({"td", "th"})
#: elements that begin a run even inside a row; the rest of such a row is read like any other text
APART = frozenset({"tr", "pre"}) | HEADINGS
#: elements between a `<pre>` with line numbers and the element that names its language
AROUND_CODE = frozenset({"table", "tbody", "tr", "td"})
CODE_CLASS = re.compile(r"(?:^|\s)(?:language|lang|highlight-source|highlight)-([\w+#.-]+)")
SPACES = re.compile(r"\s+")
#: mark for a `<br>` or a line end written as a reference; the text itself has no carriage return left
BREAK = "\r"
LINE_END_REFERENCE = re.compile(r"&#(?:0*10(?!\d)|x0*a(?![\da-f]));?|&newline;", re.IGNORECASE)
INVISIBLE = re.compile("[\u200b\u200c\ufeff\u00ad]")
#: ends of comments and marked sections, and what begins one
SECTIONS = (
    (re.compile(r"--\s*>"), re.compile(r"<(?=!--)")),
    (
        re.compile(r"\]\s*\]\s*>"),
        re.compile(r"<(?=!\[(?:temp|cdata|ignore|include|rcdata)\b)", re.IGNORECASE),
    ),
)

Attributes = dict[str, str | None]

#: names of `<meta>`, `itemprop` and JSON-LD for an author or a date, with their shared names
STATED = MappingProxyType(
    {
        **dict.fromkeys(
            ("author", "article:author", "dc.creator", "dcterms.creator", "citation_author"), "author"
        ),
        **dict.fromkeys(
            (
                *("article:published_time", "datepublished", "datecreated", "date", "pubdate", "publishdate"),
                *(
                    "dc.date",
                    "dc.date.issued",
                    "dc.date.created",
                    "dcterms.created",
                    "dcterms.issued",
                    "dcterms.date",
                ),
                *("citation_publication_date", "citation_date", "created", "og:article:published_time"),
            ),
            "created",
        ),
        **dict.fromkeys(
            (
                *("article:modified_time", "og:updated_time", "datemodified", "dc.date.modified"),
                *(
                    "dcterms.modified",
                    "last-modified",
                    "lastmod",
                    "modified",
                    "revised",
                    "docbuild:last-update",
                ),
            ),
            "modified",
        ),
    }
)
LINKED = ("author", "datePublished", "dateCreated", "dateModified")
MAX_LINKED_DATA_CHARS = 200_000
MAX_TAGS, TAG_CHARS = 64, 100


class PagePart(IntFlag):
    """The parts of a page that its markup names."""

    MAIN = 1
    ARTICLE = 2
    HEADER = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Text between two block tags: readable lines, each with its lines in the file."""

    tag: str
    lines: list[tuple[str, LineSpan]]
    part: PagePart
    #: number of the table that the run is a row of, from 1; 0 outside tables
    table: int
    #: inside `<pre>`
    is_preformatted: bool
    language: str | None
    #: the first text of a definition, whose term is the run before
    is_definition: bool
    #: characters of the text in links
    link_chars: int

    @property
    def size(self) -> int:
        """Return the number of characters of the lines."""
        return sum(len(text) for text, _ in self.lines)

    @property
    def own_chars(self) -> int:
        """Return the number of characters outside of links, of which navigation has few."""
        return max(0, self.size - self.link_chars)


class AlternativeText(str):
    """The text that stands for a picture."""

    __slots__ = ()


class SiteReader(HTMLParser):
    """Parser of a page that skips elements without readable text, and parts of the site.

    Args:
        whole: include parts of the site: navigation, footers, banners, hidden elements.
    """

    def __init__(self, *, whole: bool = False) -> None:
        super().__init__(convert_charrefs=True)
        self._whole = whole
        self._skip_tag = ""
        self._skip_depth = 0

    @property
    def is_cut_short(self) -> bool:
        """Return whether the page ended inside a skipped element."""
        return self._skip_depth > 0

    def read(self, text: str) -> None:
        """Parse the page."""
        self.feed(prepare_page(text))
        self.close()

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # in HTML a slash closes void elements only: <div/> opens a div, but <script/> in XHTML is complete
        if tag not in UNREAD or self._skip_depth:
            self.handle_starttag(tag, attrs)

    def _is_skipped(self, tag: str, attributes: Attributes) -> bool:
        if tag in UNREAD or self._whole:
            return tag in UNREAD
        return tag in SITE or (tag in NAMED and bool(attributes) and is_of_site(tag, attributes))


class PageReader(SiteReader):
    """Parser that collects the runs of a page."""

    def __init__(self, *, whole: bool = False) -> None:
        super().__init__(whole=whole)
        self.runs: list[Run] = []
        self.title: str | None = None
        self.description: str | None = None
        #: The values of `article:tag` (Open Graph), in order.
        self.tags: list[str] = []
        self._stated: dict[str, Any] = {}
        self._linked: dict[str, Any] = {}
        #: characters of text that were skipped as part of the site
        self.skipped_chars = 0
        #: text among it that only a guess takes for part of the site, by a name or as hidden
        self.guessed: list[str] = []
        self._is_guess = False
        self._text: list[tuple[str, int]] = []
        self._tag = "p"
        self._language: str | None = None
        self._pre_depth = 0
        self._quote_depth = 0
        self._row_depth = 0
        #: inside a cell whose end tag may be left out
        self._is_cell_open = False
        self._table = 0
        self._link_depth = 0
        self._link_chars = 0
        #: 1 behind a term, 2 inside its definition
        self._definition = 0
        self._linked_data: list[str] | None = None
        self._parts: list[tuple[str, PagePart, int]] = []

    @property
    def stated(self) -> dict[str, Any]:
        """Return what the page states of its author and dates, for `stated_metadata`."""
        return {**self._linked, **self._stated}

    def read(self, text: str) -> None:
        """Parse the page; the runs are complete afterwards."""
        super().read(text)
        self._flush()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._skip_depth:
            self._skip_depth += tag == self._skip_tag
            return
        attributes = dict(attrs)
        if "itemprop" in attributes:
            self._state(attributes["itemprop"], attributes.get("datetime") or attributes.get("content"))
        if self._is_skipped(tag, attributes):
            if tag in BLOCKS:
                self._flush()
            self._skip_tag, self._skip_depth = tag, 1
            self._is_guess = tag not in UNREAD | SITE
            self._linked_data = [] if attributes.get("type") == "application/ld+json" else None
        elif tag == "meta":
            self._read_meta(attributes)
        elif tag == "img":
            self._text.append((AlternativeText(f" {attributes.get('alt') or ''} "), self.getpos()[0]))
        elif tag == "a":
            self._link_depth += 1
        elif tag == "br":
            self._text.append((BREAK, self.getpos()[0]))
        elif tag == "code" and self._pre_depth:
            self._language = self._language or code_language(attributes)
        elif tag in BLOCKS or tag in HEADINGS:
            self._open(tag, attributes)
        self._enter(tag, attributes)

    def handle_endtag(self, tag: str) -> None:
        if self._skip_depth:
            self._skip_depth -= tag == self._skip_tag
            if not self._skip_depth and self._linked_data is not None:
                self._linked = self._linked or linked_data_fields("".join(self._linked_data))
            return
        if tag == "a":
            self._link_depth = max(0, self._link_depth - 1)
        if tag in CELLS and self._row_depth:
            self._is_cell_open = False
            self._text.append((" | ", self.getpos()[0]))
        elif tag in BLOCKS or tag in HEADINGS:
            self._close(tag)
        self._leave(tag)

    def handle_data(self, data: str) -> None:
        if not self._skip_depth:
            self._text.append((data, self.getpos()[0]))
            self._link_chars += len(data) if self._link_depth else 0
        elif self._linked_data is not None:
            self._linked_data.append(data)
        elif self._skip_tag not in UNREAD:
            self.skipped_chars += len(data.strip())
            if self._is_guess:
                self.guessed.append(data)

    def _is_skipped(self, tag: str, attributes: Attributes) -> bool:
        if self._quote_depth and tag == "footer":  # a quotation's footer names its source
            return False
        return super()._is_skipped(tag, attributes)

    def _enter(self, tag: str, attributes: Attributes) -> None:
        """Record that a named part of the page begins."""
        if self._parts and tag == self._parts[-1][0]:
            name, part, depth = self._parts[-1]
            self._parts[-1] = (name, part, depth + 1)
        elif not self._skip_depth and (entered := _part_of(tag, attributes)):
            outer = self._parts[-1][1] if self._parts else PagePart(0)
            self._parts.append((tag, outer | entered, 1))

    def _leave(self, tag: str) -> None:
        if self._parts and tag == self._parts[-1][0]:
            name, part, depth = self._parts.pop()
            if depth > 1:
                self._parts.append((name, part, depth - 1))

    def _open(self, tag: str, attributes: Attributes) -> None:
        if self._row_depth and tag not in APART:
            is_next_cell = tag in CELLS and self._is_cell_open
            self._is_cell_open = self._is_cell_open or tag in CELLS
            self._text.append((" | " if is_next_cell else " ", self.getpos()[0]))
            return
        self._flush()
        self._tag = tag
        if tag == "dd" and self._definition:
            self._definition = 2
        elif tag in ("dt", "dl"):
            self._definition = 0
        self._row_depth = int(tag == "tr")
        self._is_cell_open = False
        self._table += tag == "table"
        self._quote_depth += tag == "blockquote"
        if tag == "pre":
            self._pre_depth += 1
            self._language = code_language(attributes) or self._language
        elif tag == "div":
            self._language = code_language(attributes) or self._language  # Sphinx has it around the <pre>
        elif not self._pre_depth and tag not in AROUND_CODE:
            self._language = None

    def _close(self, tag: str) -> None:
        if self._row_depth and tag not in ROW_ENDS:
            self._text.append((" ", self.getpos()[0]))
            return
        self._flush()
        self._tag = "p"
        self._row_depth = 0
        self._quote_depth = max(0, self._quote_depth - (tag == "blockquote"))
        if tag == "pre":
            self._pre_depth = max(0, self._pre_depth - 1)
            self._language = None

    def _read_meta(self, attributes: Attributes) -> None:
        name, content = (attributes.get("name") or "").lower(), attributes.get("content") or ""
        if name == "description":
            self.description = " ".join(content.split())[:1000] or None
        named = name or (attributes.get("property") or "")
        if named == "article:tag" and content.strip() and len(self.tags) < MAX_TAGS:
            self.tags.append(" ".join(content.split())[:TAG_CHARS])
        self._state(named, content)

    def _state(self, name: str | None, value: str | None) -> None:
        """Keep the first value of a name that stands for an author or a date, all values of an author."""
        shared = STATED.get((name or "").lower())
        if shared is None or not value or value.startswith(("http:", "https:")):
            return
        if shared == "author":
            self._stated.setdefault("author", []).append(value)
        else:
            self._stated.setdefault(shared, value)

    def _flush(self) -> None:
        """End the current run of text."""
        pieces, self._text = self._text, []
        link_chars, self._link_chars = self._link_chars, 0
        if self._tag in HEADINGS and any(text.strip() for text, _ in pieces if type(text) is str):
            pieces = [piece for piece in pieces if type(piece[0]) is str]  # a logo in front of the words
        lines = _render_preformatted(pieces) if self._pre_depth else _render_flowing(pieces)
        if not lines:
            return
        if self._tag == "title":
            self.title = self.title or " ".join(line for line, _ in lines)
            return
        self.runs.append(
            Run(
                tag=self._tag,
                lines=lines,
                part=self._parts[-1][1] if self._parts else PagePart(0),
                table=max(1, self._table) if self._row_depth else 0,
                is_preformatted=self._pre_depth > 0,
                language=self._language,
                is_definition=self._definition == 2 and not self._row_depth and not self._pre_depth,
                link_chars=link_chars,
            )
        )
        self._definition = int(self._tag == "dt")


def linked_data_fields(text: str) -> dict[str, Any]:
    """Return author and dates of JSON-LD, from the first object that states a date or an author."""
    if len(text) > MAX_LINKED_DATA_CHARS:
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    graph = value.get("@graph") if isinstance(value, dict) else None
    for each in (
        value,
        *(value if isinstance(value, list) else ()),
        *(graph if isinstance(graph, list) else ()),
    ):
        if isinstance(each, dict) and (
            stated := {STATED[name.lower()]: each[name] for name in LINKED if name in each}
        ):
            return stated
    return {}


def prepare_page(text: str) -> str:
    """Return a page for Python's parser, with the same lines.

    `&#10;` becomes BREAK, which ends no line. `<` becomes text where no end of its markup follows: the parser
    would search the rest of the page for each (60,000 characters of `<a` took 5 s, 120,000 over 16 s).
    """
    text = LINE_END_REFERENCE.sub(BREAK, text)
    for end, begin in SECTIONS:
        last = max((found.end() for found in end.finditer(text)), default=0)
        text = text[:last] + begin.sub("&lt;", text[last:])
    last = text.rfind(">") + 1
    return text[:last] + text[last:].replace("<", "&lt;")


def code_language(attributes: Attributes) -> str | None:
    """Return the language named by a class such as `language-python` or Sphinx' `highlight-python3`."""
    found = CODE_CLASS.search(attributes.get("class") or "")
    if found is None or found[1].lower() in ("default", "none", "text", "notranslate"):
        return None
    return "python" if found[1] in ("python3", "pycon3") else found[1].lower()


def is_of_site(tag: str, attributes: Attributes) -> bool:
    if "hidden" in attributes or attributes.get("aria-hidden") == "true":
        return True
    if (attributes.get("role") or "").lower() in SITE_ROLES:
        return True
    if HIDDEN_STYLE.search(attributes.get("style") or ""):
        return True
    classes = attributes.get("class") or ""
    if _names_site(classes):
        return True
    is_named_by_id = tag in NAMED_BY_ID and "section" not in classes.split()  # a section of docutils
    return is_named_by_id and _names_site(attributes.get("id") or "")


@lru_cache(maxsize=4_096)
def _names_site(names: str) -> bool:
    return any(SITE_NAMES.fullmatch(name) for name in names.split())


def _part_of(tag: str, attributes: Attributes) -> PagePart | None:
    if tag == "main" or attributes.get("role") == "main" or attributes.get("itemprop") == "articleBody":
        return PagePart.MAIN
    if tag == "article" or attributes.get("role") == "article":
        return PagePart.ARTICLE
    return PagePart.HEADER if tag == "header" else None


def _render_preformatted(pieces: list[tuple[str, int]]) -> list[tuple[str, LineSpan]]:
    """Return the lines of a `<pre>` with their own spaces, without blank ones at either end."""
    rendered: list[tuple[str, LineSpan]] = [("", LineSpan(pieces[0][1], pieces[0][1]))] if pieces else []
    open_line: list[str] = []
    for text, line in pieces:
        for offset, written in enumerate(text.split("\n")):
            place = LineSpan(line + offset, line + offset)
            for number, part in enumerate(written.split(BREAK)):
                if offset or number:
                    rendered[-1] = ("".join(open_line), rendered[-1][1])
                    rendered.append(("", place))
                    open_line = []
                elif not any(open_line):
                    rendered[-1] = ("", place)
                open_line.append(part)
    if rendered:
        rendered[-1] = ("".join(open_line), rendered[-1][1])
    filled = [index for index, (text, _) in enumerate(rendered) if text.strip()]
    return rendered[filled[0] : filled[-1] + 1] if filled else []


def _render_flowing(pieces: list[tuple[str, int]]) -> list[tuple[str, LineSpan]]:
    """Return the text with white space collapsed: one line, or several where it has a `<br>`."""
    rendered: list[tuple[str, LineSpan]] = []
    run: list[tuple[str, int]] = []
    for piece in [*pieces, (BREAK, 0)]:
        if piece[0] != BREAK:
            run.append(piece)
            continue
        joined = INVISIBLE.sub("", "".join(text for text, _ in run))
        text = SPACES.sub(" ", joined).strip().removesuffix("|").rstrip()
        if text:
            rendered.append((text, _extent(run)))
        run = []
    return rendered


def _extent(pieces: list[tuple[str, int]]) -> LineSpan:
    """Return the lines of the file from the first to the last visible character."""
    visible = [(text, line) for text, line in pieces if text.strip() and text != " | "] or pieces
    first, first_line = visible[0]
    last, last_line = visible[-1]
    start = first_line + first[: len(first) - len(first.lstrip())].count("\n")
    return LineSpan(start, max(start, last_line + last.rstrip().count("\n")))
