"""XML of texts in any vocabulary (DocBook, DITA, TEI, FB2, XLIFF, feeds, exports of notes), read as HTML is.

The names of common vocabularies are those of HTML elements to the reader of pages. Of an unknown element that
stands within text, the text flows on; of any other it is a block.
"""

import re
from collections import Counter
from html.parser import HTMLParser
from typing import Final

from ingest.parsers.decode import decode, split_lines
from ingest.parsers.errors import ParseRefused
from ingest.parsers.images.svg import NESTED_ENTITY
from ingest.parsers.markup.html import PageText
from ingest.parsers.markup.html_reader import BLOCKS, HEADINGS, PageReader, prepare_page
from ingest.parsers.types import FileType, Outline

#: elements by the HTML element that they are read as, without name spaces, lower case
NAMES: Final = {
    name: tag
    for tag, names in {
        "p": "para simpara p ab seg v shortdesc cmd info stepresult context result source target",
        "ul": "itemizedlist orderedlist simplelist procedure steps steps-unordered substeps ul ol list sl",
        "li": "listitem li item step substep choice sli member outline",
        "dl": "variablelist dl glosslist parml",
        "dt": "dt term glossterm pt",
        "dd": "dd glossdef pd",
        "table": "table informaltable simpletable worksheet tbl",
        "tr": "row tr strow sthead",
        "td": "entry td th stentry cell tc",
        "pre": "programlisting screen literallayout codeblock msgblock screenblock code-block synopsis pre",
        "blockquote": "blockquote epigraph quote-block lq cit",
        "br": "br lb sbr",
    }.items()
    for name in names.split()
}
TITLES: Final = frozenset({"title", "head", "heading", "book-title"})
#: roots whose `head` has metadata
WITH_HEAD: Final = frozenset({"opml", "html", "tt"})
#: within these every unknown element is part of the text
FLOWING: Final = frozenset({"p", "pre", "td", "dt"})
#: elements without text for a reader
UNREAD: Final = frozenset(
    {"binary", "style", "styles", "script", "resource", "encodingdesc", "profiledesc", "revisiondesc"}
)
#: attributes that hold the text of an element
TEXT_ATTRIBUTES: Final = {"outline": ("text", "_note"), "worksheet": ("ss:name",)}
#: elements whose marked section is a page of HTML
PAGES: Final = re.compile(
    r"(<(?:content(?::encoded)?|excerpt:encoded|description|summary)\b[^<>]*>\s*)<!\[CDATA\[(.*?)\]\]>", re.DOTALL
)
MARKED: Final = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
DECLARATION: Final = re.compile(r"<\?.*?\?>|<!DOCTYPE\s[^\[>]*(?:\[.*?\]\s*)?>", re.DOTALL)
#: roots of configuration and data, which are read as code
CODE_ROOTS: Final = frozenset(
    {
        *("schema", "stylesheet", "transform", "project", "configuration", "beans", "manifest", "plist"),
        *("resources", "web-app", "package", "settings", "assembly", "component", "module", "grammar"),
        *("definitions", "wsdl", "log4j", "persistence", "hibernate-mapping", "mapper", "cxml", "testsuite"),
    }
)
#: roots of vocabularies of texts, which are read whatever the length of their sentences
TEXT_ROOTS: Final = frozenset(
    {
        *("article", "book", "chapter", "section", "refentry", "set", "glossary", "appendix", "preface"),
        *("topic", "concept", "task", "reference", "glossentry", "dita", "map", "bookmap", "tei", "teicorpus"),
        *("fictionbook", "xliff", "tmx", "opml", "en-export", "note", "rss", "feed", "rdf", "worddocument"),
        *("workbook", "html"),
    }
)
ROOT: Final = re.compile(rb"\s*(?:<(?:\?.*?\?|!--.*?--|!DOCTYPE\s[^\[>]*(?:\[.*?\]\s*)?)>\s*)*<([A-Za-z_][\w.:-]*)", re.DOTALL)
TEXT_BETWEEN: Final = re.compile(r">([^<>]+)<")
#: words of a sentence, and the share of a text's characters that are in sentences
SENTENCE_WORDS: Final = 5
SENTENCE_SHARE: Final = 0.5
READ_BYTES: Final = 65_536


def root_of(content: bytes) -> str | None:
    """Return the name of a file's first element without its name space, lower case; None if it isn't XML."""
    found = ROOT.match(content[:READ_BYTES].removeprefix(b"\xef\xbb\xbf"))
    return None if found is None else _local(found[1].decode().lower())


def is_text(content: bytes, root: str) -> bool:
    """Return whether XML with this first element is a text, and not configuration or data."""
    if root in CODE_ROOTS or root in TEXT_ROOTS:
        return root in TEXT_ROOTS
    texts = [text.split() for text in TEXT_BETWEEN.findall(decode(content[:READ_BYTES]))]
    sizes = [sum(map(len, words)) for words in texts]
    in_sentences = sum(size for words, size in zip(texts, sizes, strict=True) if len(words) >= SENTENCE_WORDS)
    return in_sentences > SENTENCE_SHARE * sum(sizes)


def parse_xml(content: bytes, file: FileType) -> Outline:
    """Return the text: titles as headings by their depth, paragraphs, items, rows and code.

    Raises:
        ParseRefused: it declares an entity bomb (`xml_entities`).
    """
    if NESTED_ENTITY.search(content):
        raise ParseRefused("xml_entities", "the file declares entities made of entities, as bombs do")
    text = _unmarked("\n".join(split_lines(decode(content))))
    names = _Names()
    names.feed(prepare_page(text))
    reader = _XmlReader(names.inline())
    reader.read(text)
    page = PageText()
    for run in reader.runs:
        page.add(run)
    return page.outline()


def _unmarked(text: str) -> str:
    """Return XML without declarations and marked sections, with the same lines."""
    text = DECLARATION.sub(lambda found: "\n" * found[0].count("\n"), text)
    text = PAGES.sub(lambda found: found[1] + DECLARATION.sub("", found[2]), text)
    return MARKED.sub(lambda found: found[1].replace("&", "&amp;").replace("<", "&lt;"), text)


def _local(name: str) -> str:
    return name.rpartition(":")[2]


class _Parser(HTMLParser):
    """A parser to which no element is special."""

    def set_cdata_mode(self, elem: str, **options: bool) -> None:
        """Do nothing: `script` and `title` may hold elements."""


class _Names(_Parser):
    """A parser that counts where the elements of each name stand: within text or between other elements."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[list[str]] = [[]]
        self._has_text = [False]
        self._within: Counter[str] = Counter()
        self._all: Counter[str] = Counter()

    def inline(self) -> frozenset[str]:
        """Return the names of the elements that mostly stand within text."""
        while self._open:
            self._end()
        return frozenset(name for name, count in self._within.items() if 2 * count > self._all[name])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open[-1].append(_local(tag))
        self._open.append([])
        self._has_text.append(False)

    def handle_endtag(self, tag: str) -> None:
        if len(self._open) > 1:
            self._end()

    def handle_data(self, data: str) -> None:
        self._has_text[-1] = self._has_text[-1] or bool(data.strip())

    def _end(self) -> None:
        inner = Counter(self._open.pop())
        self._all += inner
        if self._has_text.pop():
            self._within += inner


class _XmlReader(_Parser, PageReader):
    """A reader of XML as a page, whose titles are headings."""

    def __init__(self, inline: frozenset[str]) -> None:
        super().__init__(whole=True)
        self._inline = inline
        #: the names of the open elements, and how many of them have a title
        self._path: list[tuple[str, bool]] = []
        self._tags: list[str] = []
        #: the number of open elements with the title that is open; 0 outside of titles
        self._title_depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        name = _local(tag)
        mapped = self._tag_of(tag, name)
        if mapped in HEADINGS and not self._title_depth:
            if self._path:
                self._path[-1] = (self._path[-1][0], True)
            self._title_depth = len(self._path) + 1
        elif self._title_depth and name in NAMES:
            self.handle_data(" ")
        self._path.append((name, False))
        self._tags.append(mapped)
        super().handle_starttag(mapped, attrs)
        given = dict(attrs)
        for attribute in TEXT_ATTRIBUTES.get(name, ()):
            self.handle_data(f"{given.get(attribute) or ''}\n")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        name = _local(tag)
        if not any(name == each for each, _ in self._path):
            return
        closed = ""
        while closed != name:
            closed, _ = self._path.pop()
            super().handle_endtag(self._tags.pop())
            if self._title_depth > len(self._path):
                self._title_depth = 0

    def _tag_of(self, tag: str, name: str) -> str:
        """Return the HTML element that an element is read as where it stands."""
        if self._title_depth:
            return "span"
        if name in UNREAD or (tag.startswith("wp:") and "comment" not in name):
            return "script"
        if name in TITLES and not (name == "head" and self._path and self._path[0][0] in WITH_HEAD):
            return f"h{min(6, 1 + sum(has_title for _, has_title in self._path))}"
        if mapped := NAMES.get(name):
            return "span" if mapped == "p" and name in self._inline else mapped
        if name in BLOCKS or name in HEADINGS:
            return name
        return "span" if name in self._inline or not FLOWING.isdisjoint(self._tags) else "div"
