"""Reader of HTML pages: each run of text with its element, its lines in the file and its part of the page.

The standard library's parser is used because it alone reports positions in the source.
"""

import json
import re
from dataclasses import dataclass
from enum import IntFlag
from functools import lru_cache
from html.parser import HTMLParser
from typing import Any

from ingest.parsers.omissions import OmissionLog
from ingest.parsers.types import LineSpan

#: elements without readable text; templates of a shadow tree have some
UNREAD = frozenset({"script", "style", "template", "noscript", "svg", "iframe", "object", "select"})
SHADOW_TREE = frozenset({"shadowrootmode", "shadowroot"})
#: elements of the site, not of the page
SITE = frozenset({"nav", "footer", "dialog"})
#: elements that may be skipped by their attributes; others may end without an end tag
NAMED = frozenset(
    {"div", "section", "aside", "header", "ul", "ol", "a", "span", "td", "form", "pre", "button"}
)
#: those of them whose text is read and left out afterwards if it is mostly links
GROUPS = frozenset({"div", "section", "aside", "header", "ul", "ol", "form"})
#: elements that may be skipped by id too; ids of sections, cells and anchors are generated from titles
NAMED_BY_ID = frozenset({"div", "aside", "header", "ul", "ol", "form"})
SITE_ROLES = frozenset({"navigation", "search", "contentinfo", "dialog", "alertdialog", "menu", "menubar"})
#: classes and ids that documentation generators give to elements outside the page's text
SITE_NAMES = re.compile(
    r"nav(?:header|footer)|headerlink|hash-link|heading-anchor|header-anchor|anchorjs-link|permalink|copybtn|copy-button|linenos?|lnt|rouge-gutter"
    r"|sphinxsidebar\w*|side-?nav|md-sidebar\S*|bd-sidebar\S*|bd-toc\S*|wy-nav-(?:side|top)"
    r"|toc-drawer|toc-container|table-of-contents\S*|on-this-page|theme-doc-(?:sidebar|toc|footer|breadcrumbs)\S*"
    r"|pagination-nav|prev-next-\S*|(?:theme-)?edit-this-page|md-(?:header|footer|tabs|search|skip)\S*"
    r"|(?:site|page|global)-(?:header|footer|nav)|navbar|mobile-header|skip-?(?:link|to)\S*|visually-hidden|sr-only"
    r"|onetrust\S*|VPNav|VPSidebar|VPDocAside|VPDocFooter|VPLocalNav",
    re.IGNORECASE,
)
#: names that sections of the main part have as well, and topics that any section may have: their text decides
LIKELY_NAMES = re.compile(
    r"sidebar|footer|toc|breadcrumbs?|(?:cookie|consent|gdpr)(?:[-_]\S*|s|banner|bar)?", re.IGNORECASE
)
TOPIC_NAMES = re.compile(r"related|(?:newsletter|social|share)(?:[-_]\S*|s|banner|bar)?", re.IGNORECASE)
#: characters outside of links of a part that is no list of links, in the main part and elsewhere
MAIN_PROSE, OTHER_PROSE = 25, 80
#: names and labels of buttons that act on the page
TOOL_NAMES = re.compile(r"cop(?:y|ied)|clipboard|close|dismiss|theme|hamburger|share|search", re.IGNORECASE)
#: names of hidden parts that a reader opens: panels of tabs, answers, details
PANEL_NAMES = re.compile(
    r"(?:^|[-_\s])(?:tab|tabpanel|panel|pane|accordion|collaps\w*|toggle|faq|answer|details?|expand\w*)",
    re.IGNORECASE,
)
PANEL_ROLES = frozenset({"tabpanel", "region"})
HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden|mso-hide\s*:\s*all", re.IGNORECASE)
HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
BLOCK_NAMES = """
address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption
figure footer form header hgroup hr html legend li main menu nav ol p pre section summary table tbody
td textarea tfoot th thead title tr ul
"""
BLOCKS = frozenset(BLOCK_NAMES.split())
ROW_ENDS = frozenset({"tr", "table", "tbody", "thead", "body", "html"})
CELLS = frozenset({"td", "th"})
#: elements of which two words never touch, and those that programs split words into
BOXES = frozenset({"button", "label", "kbd", "output", "summary"})
SPANS = frozenset({"a", "abbr", "b", "em", "font", "i", "small", "span", "strong", "time", "u"})
#: a class that names a field or a badge, and not a style, a token of code or a misspelling
FIELD_CLASS = re.compile(
    r"(?<![\w-])(?!(?:spelle|grame|hljs|token|char|letter|word)\b)[a-z]{3,}(?![\w])", re.I
)
#: what stands above a word
RUBY = frozenset({"rt", "rp", "rtc"})
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
STATED_NAMES = {
    "author": "author article:author dc.creator dcterms.creator citation_author",
    "created": """
    article:published_time datepublished datecreated date pubdate publishdate dc.date dc.date.issued
    dc.date.created dcterms.created dcterms.issued dcterms.date citation_publication_date citation_date
    created og:article:published_time
    """,
    "modified": """
    article:modified_time og:updated_time datemodified dc.date.modified dcterms.modified last-modified lastmod
    modified revised docbuild:last-update
    """,
}
STATED = {name: shared for shared, names in STATED_NAMES.items() for name in names.split()}
LINKED = ("author", "datePublished", "dateCreated", "dateModified")
MAX_LINKED_DATA_CHARS = 200_000
MAX_TAGS, TAG_CHARS = 64, 100


class PagePart(IntFlag):
    """The parts of a page that its markup names."""

    MAIN = 1
    ARTICLE = 2
    HEADER = 4
    #: by its name a part of the site, or hidden, but prose
    LIKELY = 8


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

    def _skipped_kind(self, tag: str, attributes: Attributes) -> str | None:
        """Return the kind of omission of an element, '' for one without text, None for one to read."""
        if tag in UNREAD:
            return None if SHADOW_TREE & attributes.keys() else ""
        if tag == "del" and {"cite", "datetime"} <= attributes.keys():
            return "deleted_text"  # by Word, under change tracking
        if self._whole:
            return None
        if tag in SITE or (tag in NAMED and attributes and is_of_site(tag, attributes)):
            return "site_parts"
        return "hidden_text" if tag in NAMED and is_hidden(tag, attributes, self._is_in_main) else None

    @property
    def _is_in_main(self) -> bool:
        """Return whether the parser is inside a part that the page marks as its main one."""
        return True


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
        self.omissions = OmissionLog()
        #: characters of text that were skipped
        self.skipped_chars = 0
        #: text among it that was skipped inside the main part for a name or as hidden
        self.guessed: list[str] = []
        self._skip_kind = ""
        #: characters skipped before the present element, and whether that is a drawing with labels
        self._skip_start = 0
        self._is_labelled = False
        #: ids of parts that a button or a tab opens
        self._controlled: set[str] = set()
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
        #: named parts: the element, its parts, its depth among its like, the number of runs before it
        self._parts: list[tuple[str, PagePart, int, int]] = []
        #: the inline elements that ended and began since the last text
        self._last_attributes: dict[str, Attributes] = {}
        self._ended: tuple[str, Attributes] | None = None
        self._begun: tuple[str, Attributes] | None = None
        self._code_depth = 0
        #: the element of RUBY that is open, and the readings of the run's words
        self._ruby = ""
        self._readings: list[str] = []

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
            self._is_labelled |= self._skip_tag == "svg" and tag in ("text", "foreignobject")
            return
        attributes = dict(attrs)
        self._controlled.update((attributes.get("aria-controls") or "").split())
        if "itemprop" in attributes:
            self._state(attributes["itemprop"], attributes.get("datetime") or attributes.get("content"))
        kind = self._skipped_kind(tag, attributes)
        if kind is not None:
            if tag in BLOCKS:
                self._flush()
            self._skip_tag, self._skip_depth = tag, 1
            self._skip_kind, self._skip_start, self._is_labelled = kind, self.skipped_chars, False
            self._linked_data = [] if attributes.get("type") == "application/ld+json" else None
        elif tag == "meta":
            self._read_meta(attributes)
        elif tag == "img":
            self._text.append((AlternativeText(f" {attributes.get('alt') or ''} "), self.getpos()[0]))
        elif tag == "br":
            self._text.append((BREAK, self.getpos()[0]))
        elif tag in BLOCKS or tag in HEADINGS:
            self._open(tag, attributes)
        else:
            self._begin_inline(tag, attributes)
        self._enter(tag, attributes)

    def _begin_inline(self, tag: str, attributes: Attributes) -> None:
        self._last_attributes[tag] = attributes
        self._begun = self._begun or (tag, attributes)
        if tag in ("a", "button"):
            self._link_depth += 1
        elif tag == "code":
            self._code_depth += 1
            if self._pre_depth:
                self._language = self._language or code_language(attributes)
        elif tag == "ruby":
            self._readings.append("")
        self._ruby = tag if tag in RUBY else "" if tag in ("ruby", "rb") else self._ruby

    def handle_endtag(self, tag: str) -> None:
        if self._skip_depth:
            self._skip_depth -= tag == self._skip_tag
            if not self._skip_depth:
                if self._linked_data is not None:
                    self._linked = self._linked or linked_data_fields("".join(self._linked_data))
                self.omissions.omitted("drawings", int(self._is_labelled))
                if self._skip_kind:
                    self.omissions.omitted(self._skip_kind, self.skipped_chars - self._skip_start)
            return
        if tag in CELLS and self._row_depth:
            self._is_cell_open = False
            self._text.append((" | ", self.getpos()[0]))
        elif tag in BLOCKS or tag in HEADINGS:
            self._close(tag)
        else:
            self._end_inline(tag)
        self._leave(tag)

    def _end_inline(self, tag: str) -> None:
        self._ended, self._begun = (tag, self._last_attributes.get(tag, {})), None
        if tag in ("a", "button"):
            self._link_depth = max(0, self._link_depth - 1)
        elif tag == "code":
            self._code_depth = max(0, self._code_depth - 1)
        elif tag in RUBY or tag == "ruby":
            self._ruby = ""

    def handle_data(self, data: str) -> None:
        if not self._skip_depth and self._ruby:
            if self._ruby == "rt" and self._readings:
                self._readings[-1] += data.strip()
        elif not self._skip_depth:
            self._part_words(data)
            self._text.append((data, self.getpos()[0]))
            self._link_chars += len(data) if self._link_depth else 0
        elif self._linked_data is not None:
            self._linked_data.append(data)
        elif self._skip_kind:
            self.skipped_chars += len(data.strip())
            if self._is_in_main and self._skip_tag not in SITE:
                self.guessed.append(data)

    def _part_words(self, data: str) -> None:
        """Write a space between the words of two neighbouring elements that show as boxes of their own."""
        ended, begun = self._ended, self._begun
        self._ended = self._begun = None
        if ended and begun and self._text and not self._pre_depth and not self._code_depth:
            left, line = self._text[-1]
            if left[-1:].isalnum() and data[:1].isalnum() and are_apart(ended, begun, left, data):
                self._text.append((" ", line))

    def _skipped_kind(self, tag: str, attributes: Attributes) -> str | None:
        if self._quote_depth and tag == "footer":  # a quotation's footer names its source
            return None
        if tag == "button" and self._pre_depth:
            return "site_parts"
        kind = super()._skipped_kind(tag, attributes)
        if kind == "hidden_text" and attributes.get("id") in self._controlled:
            kind = None
        if kind is not None or tag not in NAMED or not attributes or self._whole:
            return kind
        is_group = tag in GROUPS and not self._row_depth
        is_likely = not (is_group and self._is_in_main) and has_name(LIKELY_NAMES, tag, attributes)
        is_topic = not is_group and has_name(TOPIC_NAMES, tag, attributes)
        return "site_parts" if is_likely or is_topic else None

    def _is_likely_site(self, tag: str, attributes: Attributes) -> bool:
        """Return whether a part is named like one of the site, or hidden and no panel."""
        if self._whole or attributes.get("id") in self._controlled:
            return False
        is_named = has_name(LIKELY_NAMES, tag, attributes) or has_name(TOPIC_NAMES, tag, attributes)
        return is_named or is_hidden(tag, attributes, is_in_main=False)

    @property
    def _is_in_main(self) -> bool:
        return bool(self._parts and self._parts[-1][1] & (PagePart.MAIN | PagePart.ARTICLE))

    def _enter(self, tag: str, attributes: Attributes) -> None:
        """Record that a named part of the page begins."""
        if self._parts and tag == self._parts[-1][0]:
            name, part, depth, start = self._parts[-1]
            self._parts[-1] = (name, part, depth + 1, start)
        elif not self._skip_depth:
            entered = _part_of(tag, attributes)
            outer = self._parts[-1][1] if self._parts else PagePart(0)
            if entered and not entered & PagePart.HEADER:
                outer &= ~PagePart.LIKELY
            elif tag in GROUPS and attributes and self._is_likely_site(tag, attributes):
                entered = PagePart.LIKELY | (entered or PagePart(0))
            if entered:
                self._parts.append((tag, outer | entered, 1, len(self.runs)))

    def _leave(self, tag: str) -> None:
        if self._parts and tag == self._parts[-1][0]:
            name, part, depth, start = self._parts.pop()
            if depth > 1:
                self._parts.append((name, part, depth - 1, start))
            elif part & PagePart.LIKELY:
                self._drop_links(start)

    def _drop_links(self, start: int) -> None:
        """Leave out the runs of a part that is likely one of the site, unless it is prose."""
        runs = self.runs[start:]
        size, own = sum(run.size for run in runs), sum(run.own_chars for run in runs)
        if own < max(size / 2, MAIN_PROSE if self._is_in_main else OTHER_PROSE):
            self.omissions.omitted("site_parts", size)
            self.skipped_chars += size
            del self.runs[start:]

    def _open(self, tag: str, attributes: Attributes) -> None:
        if self._row_depth and tag not in APART:
            is_next_cell = tag in CELLS and self._is_cell_open
            self._is_cell_open = self._is_cell_open or tag in CELLS
            self._text.append((" | " if is_next_cell else " ", self.getpos()[0]))
            return
        self._flush()
        self._tag = "h1" if tag == "p" and is_document_title(attributes) else tag
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
        self._ended = self._begun = None
        if pieces and any(self._readings):
            pieces.append((f" ({' '.join(filter(None, self._readings))})", pieces[-1][1]))
        self._ruby, self._readings = "", []
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
    """Return whether an element is a part of the site by its role or its names."""
    if (attributes.get("role") or "").lower() in SITE_ROLES or has_name(SITE_NAMES, tag, attributes):
        return True
    labels = ("class", "id", "title", "aria-label")
    return tag == "button" and any(TOOL_NAMES.search(attributes.get(name) or "") for name in labels)


def has_name(names: re.Pattern[str], tag: str, attributes: Attributes) -> bool:
    """Return whether a class of an element, or the id of some, is among `names`."""
    classes = attributes.get("class") or ""
    if _matches(names, classes):
        return True
    is_named_by_id = tag in NAMED_BY_ID and "section" not in classes.split()  # a section of docutils
    return is_named_by_id and _matches(names, attributes.get("id") or "")


@lru_cache(maxsize=8_192)
def _matches(names: re.Pattern[str], words: str) -> bool:
    return any(names.fullmatch(word) for word in words.split())


def is_hidden(tag: str, attributes: Attributes, is_in_main: bool) -> bool:
    """Return whether an element is hidden for good: it is no panel that a reader opens.

    In the main part any block that takes no room is taken for one; what is only hidden from screen readers
    is an ornament or a copy.
    """
    style = HIDDEN_STYLE.search(attributes.get("style") or "")
    state = "hidden" in attributes or (style is not None and style[0][0] in "dD")
    if style is None and not state and attributes.get("aria-hidden") != "true":
        return False
    if tag not in GROUPS:
        return True
    if (attributes.get("role") or "").lower() in PANEL_ROLES or attributes.get("hidden") == "until-found":
        return False
    names = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
    return not (is_in_main and state) and not PANEL_NAMES.search(names)


def is_document_title(attributes: Attributes) -> bool:
    """Return whether a paragraph is the title of a document of Word or Google Docs."""
    classes = (attributes.get("class") or "").split()
    return "MsoTitle" in classes or ("title" in classes and (attributes.get("id") or "").startswith("h."))


def are_apart(ended: tuple[str, Attributes], begun: tuple[str, Attributes], left: str, right: str) -> bool:
    """Return whether two neighbouring inline elements show as two words, and not as parts of one."""
    tags = {ended[0], begun[0]}
    if tags == {"a"}:
        return ended[1].get("href") != begun[1].get("href")
    if tags & BOXES or any("-" in tag for tag in tags):
        return True
    if not tags <= SPANS:
        return False
    classes = [element[1].get("class") or "" for element in (ended, begun)]
    are_fields = tags == {"span"} and all(FIELD_CLASS.search(each) for each in classes)
    return (are_fields and len(left) > 1 and len(right) > 1) or (left[-1].islower() and right[0].isupper())


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
