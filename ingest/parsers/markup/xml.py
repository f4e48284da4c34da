"""XML of texts in any vocabulary (DocBook, DITA, TEI, FB2, XLIFF, feeds, exports of notes), read as HTML is.

The names of common vocabularies are those of HTML elements to the reader of pages. Of an unknown element that
stands within text, the text flows on; of any other it is a block.
"""

import re
from collections import Counter
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Final

from ingest.parsers.decode import decode, split_lines
from ingest.parsers.errors import ParseRefused
from ingest.parsers.images.image import NESTED_ENTITY
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
MAX_LEVEL: Final = 6
#: within these every unknown element is part of the text
FLOWING: Final = frozenset({"p", "pre", "td", "dt"})
#: elements without text for a reader
UNREAD: Final = frozenset(
    {"binary", "style", "styles", "script", "resource", "encodingdesc", "profiledesc", "revisiondesc"}
)
#: attributes that hold the text of an element
TEXT_ATTRIBUTES: Final = {"outline": ("text", "_note"), "worksheet": ("ss:name",)}
#: a marked section; in these elements it is a page of HTML
MARKED: Final = re.compile(
    r"(<(?:content(?::encoded)?|excerpt:encoded|description|summary)\b[^<>]*>\s*)?<!\[CDATA\[(.*?)\]\]>",
    re.DOTALL,
)
#: characters with the declarations of a file
HEAD_CHARS: Final = 4_096
INSTRUCTION: Final = re.compile(r"<\?(?:xml|mso-application)\b[^<>]*\?>")
DOCTYPE: Final = re.compile(r"<!DOCTYPE\s[^\[<>]*(?:\[(?:(?!\]\s*>).)*\]\s*)?>", re.DOTALL)
#: roots of configuration and data, which are read as code
CODE_ROOT_NAMES: Final = """
schema stylesheet transform project configuration beans manifest plist resources web-app package settings
assembly component module grammar definitions wsdl log4j persistence hibernate-mapping mapper cxml testsuite
"""
CODE_ROOTS: Final = frozenset(CODE_ROOT_NAMES.split())
#: roots of vocabularies of texts, which are read whatever the length of their sentences
TEXT_ROOT_NAMES: Final = """
article book chapter section refentry set glossary appendix preface topic concept task reference glossentry
dita map bookmap tei teicorpus fictionbook xliff tmx opml en-export note rss feed rdf worddocument workbook
html
"""
TEXT_ROOTS: Final = frozenset(TEXT_ROOT_NAMES.split())
ROOT: Final = re.compile(
    rb"\s*(?:<(?:\?(?:(?!\?>).)*\?|!--(?:(?!-->).)*--|!DOCTYPE\s[^\[>]*(?:\[(?:(?!\]\s*>).)*\]\s*)?)>\s*)*"
    rb"<([A-Za-z_][\w.:-]*)",
    re.DOTALL,
)
TEXT_BETWEEN: Final = re.compile(r">([^<>]+)<")
#: words of a sentence, and the share of a text's characters that are in sentences
SENTENCE_WORDS: Final = 5
SENTENCE_SHARE: Final = 0.5
READ_BYTES: Final = 65_536


def root_of(content: bytes) -> str | None:
    """Return the name of a file's first element without its name space, lower case; None if it isn't XML."""
    found = ROOT.match(content[:READ_BYTES].removeprefix(b"\xef\xbb\xbf"))
    return None if found is None else found[1].decode().lower().rpartition(":")[2]


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
    text = _undeclared("\n".join(split_lines(decode(content))))
    last = text.rfind("]]>") + len("]]>")
    text = MARKED.sub(_unmark, text[:last]) + text[last:]
    names = _Names()
    names.feed(prepare_page(text))
    reader = _XmlReader(names.inline())
    reader.read(text)
    page = PageText()
    for run in reader.runs:
        page.add(run)
    return page.outline()


def _unmark(found: re.Match[str]) -> str:
    opening, text = found.groups()
    return text.replace("&", "&amp;").replace("<", "&lt;") if opening is None else opening + _undeclared(text)


def _undeclared(text: str) -> str:
    head = INSTRUCTION.sub(_line_ends, text[:HEAD_CHARS], count=2)
    return DOCTYPE.sub(_line_ends, head, count=1) + text[HEAD_CHARS:]


def _line_ends(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


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
        self._open[-1].append(tag.rpartition(":")[2])
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


@dataclass(slots=True, kw_only=True)
class _Element:
    """An open element."""

    name: str
    #: the HTML element that it is read as
    tag: str
    #: levels of the headings above it, and above what is in it
    level: int
    inner_level: int
    #: whether unknown elements in it are part of its text
    flows: bool
    is_title: bool


class _XmlReader(_Parser, PageReader):
    """A reader of XML as a page, whose titles are headings."""

    def __init__(self, inline: frozenset[str]) -> None:
        super().__init__(whole=True)
        self._inline_names = inline
        self._top = _Element(name="", tag="", level=0, inner_level=0, flows=False, is_title=False)
        self._path: list[_Element] = []
        #: the numbers of open elements by name
        self._open_names: Counter[str] = Counter()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        name, around = tag.rpartition(":")[2], self._path[-1] if self._path else self._top
        mapped = self._tag_of(tag, name, around)
        is_title = mapped in HEADINGS
        if is_title:
            around.inner_level = int(mapped[1])
        elif around.is_title and name in NAMES:
            self.handle_data(" ")
        self._path.append(
            _Element(
                name=name,
                tag=mapped,
                level=around.inner_level,
                inner_level=around.inner_level,
                flows=around.flows or mapped in FLOWING,
                is_title=around.is_title or is_title,
            )
        )
        self._open_names[name] += 1
        super().handle_starttag(mapped, attrs)
        given = dict(attrs)
        for attribute in TEXT_ATTRIBUTES.get(name, ()):
            self.handle_data(f"{given.get(attribute) or ''}\n")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        name = tag.rpartition(":")[2]
        if not self._open_names[name]:
            return
        closed = ""
        while closed != name:
            element = self._path.pop()
            closed = element.name
            self._open_names[closed] -= 1
            super().handle_endtag(element.tag)

    def _tag_of(self, tag: str, name: str, around: _Element) -> str:
        """Return the HTML element that an element is read as within `around`."""
        if around.is_title:
            return "span"
        if name in UNREAD or (tag.startswith("wp:") and "comment" not in name):
            return "script"
        if name in TITLES and not (name == "head" and self._path and self._path[0].name in WITH_HEAD):
            return f"h{min(MAX_LEVEL, around.level + 1)}"
        if mapped := NAMES.get(name):
            return "span" if mapped == "p" and name in self._inline_names else mapped
        if name in BLOCKS or name in HEADINGS:
            return name
        return "span" if name in self._inline_names or around.flows else "div"
