"""Files that were made to slow a parser down: by parser a path, and shapes by name, each of a size."""

import io
import json
from collections.abc import Callable, Mapping

from PIL import Image

from tests.support.archives import zip_of
from tests.support.compound_files import compound_file, outlook_message
from tests.support.pdf_files import Page, pdf_of

Make = Callable[[int], bytes]
Shapes = Mapping[str, Make]

_RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_OOXML = "application/vnd.openxmlformats-officedocument"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_ODF = "urn:oasis:names:tc:opendocument:xmlns"
_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def _many(piece: str, head: str = "", tail: str = "") -> Make:
    return lambda size: (head + piece * (size // len(piece)) + tail).encode()


def _split(pieces: str) -> list[str]:
    return pieces.split("¦")


def _texts(*pieces: str | tuple[str, ...]) -> Shapes:
    """Return the shapes of a text format: what is common to all, and pieces, which may have a frame."""
    common = ("a", " ", "\n", "\t", "a b\n", "é ", "\\", "0")
    shapes = {repr(piece): _many(piece) for piece in common}
    for piece in pieces:
        own = (piece,) if isinstance(piece, str) else piece
        shapes[repr(own)[:60]] = _many(*own)
    return shapes | {
        "lines of all lengths": lambda size: b"\n".join(b"-" * n for n in range(int((2 * size) ** 0.5)))
    }


_MARKDOWN = _texts(
    *_split(
        "# a\n¦a\n===\n¦[¦![a](¦[a](b¦<a ¦<!--¦&#¦`¦```\n¦*a¦_a¦|a|\n¦> ¦- ¦-\n¦1. a\n¦\n\n- a¦{¦"
        "</a¦<A b=\"¦<A b={\"\\¦[^1]¦[^1]: a\n¦$a¦{#a ¦import a from 'b'\n¦\ta\n"
    ),
    ("|a", "|a|\n|-|\n"),
    ("a: b\n", "---\n"),
    ("- &a\n", "---\n"),
    ('\\"', '<A b={"'),
    (" ", "# a", "b"),
)
_HTML = _texts(
    *_split(
        '<a¦<a ¦</¦</a¦<!--¦<![CDATA[¦<!¦<?¦&¦<p>¦<div>¦<td>¦<li>¦<dd>¦<h1>a</h1>¦<br>¦<a b="¦'
        "<table><tr>¦<pre>\n¦<div class='nav a'>¦<script>¦<!--a-->¦<a\n¦<dt>a<dd>b¦<blockquote>"
    ),
    ("<!--", "", ">"),
    ("<a b='", "", ">"),
    ("a<b>", "<pre>"),
    ("\n", "<pre>", "a"),
    ("</", "<script>", ">"),
    ("<![CDATA[", "", "]>"),
    (" a", "<title>", "</title><h1>a a a a</h1>"),
    ('<meta name="author" content="a">', ""),
    ("<br>", "<p>"),
    ("&#10;", "<p>"),
)
_DATA = _texts(
    *_split(
        "[¦{¦[[¦\"¦\"a¦'¦,¦a,b\n¦{\"a\":¦- ¦a: b\n¦- a: b\n¦a:\n¦&a ¦*a\n¦? a\n¦!a ¦#a\n¦'''¦"
        '"""¦[a]\n¦a=b\\\n¦"\\n"\n¦- "\\n"\n¦{a: ¦a;b\n¦sep=\n¦/¦# \n a\n¦\\u0041¦a = [\n'
    ),
    ('"\\', '"'),
    ('"\\n",', "["),
    ('"\\n", ', "- ["),
    ("\n", '"a'),
    (' "b"', "a: "),
    ("[\n", "- "),
)
_MAIL_HEAD = "From: a@b.example\n"
_MULTIPART = f"{_MAIL_HEAD}Content-Type: multipart/mixed; boundary=b\n\n"
_MAILS = (
    *(
        "From a@b Mon Mar  4 10:00:00 2024\n",
        "From a@b Mon Mar  4 10:00:00 2024\nTo: x\n\n",
        "A: b\n",
        "From: a\n\n",
        "> ",
        "=41",
        "=\n",
    ),
    *(
        (" c\n", "To: a\n"),
        ("=?utf-8?q?a?= ", "Subject: "),
        ("<a@b> ", f"{_MAIL_HEAD}References: "),
        ("a, ", "From: "),
        (";a=b", "Content-Type: a/b"),
    ),
    *(
        ("--b\n\na\n", _MULTIPART),
        ("--b--\n", _MULTIPART),
        ("--b\nContent-Type: multipart/mixed; boundary=b\n\n", _MULTIPART),
    ),
    *(
        ("<p>", f"{_MAIL_HEAD}Content-Type: text/html\n\n"),
        ("On a wrote:\n> a\n", f"{_MAIL_HEAD}\n"),
        (">", f"{_MAIL_HEAD}\n"),
    ),
    *(
        ("BEGIN:VEVENT\nATTENDEE:a\n", f"{_MAIL_HEAD}Content-Type: text/calendar\n\n"),
        ("begin 644 a\n", f"{_MAIL_HEAD}\n"),
    ),
    *(
        ("-----BEGIN PGP MESSAGE-----\n", f"{_MAIL_HEAD}\n"),
        (" ", f"{_MAIL_HEAD}Subject: a", "b\n\n"),
        ("a\n", f"{_MAIL_HEAD}\n"),
    ),
    *(
        (" a\n", f"{_MAIL_HEAD}Content-Type: text/calendar\n\nBEGIN:VEVENT\nA:b\n"),
        ("=\n", f"{_MAIL_HEAD}Content-Transfer-Encoding: quoted-printable\n\n"),
    ),
)
_MAIL = _texts(*_MAILS)
_CUE = "00:00:01.000 --> 00:00:02.000\n"
_TRANSCRIPT = _texts(
    *_split("-->\n¦<v a>¦<b>¦{\\"),
    f"{_CUE}a\n\n",
    _CUE,
    f"1\n{_CUE}a\n",
    ("<v a>b ", f"WEBVTT\n\n{_CUE}"),
    ("<v.", f"WEBVTT\n\n{_CUE}"),
)
_CODE = _texts(*_split("{¦}¦(¦a(¦/*¦// a\n¦def a():\n¦def a():\n ¦@a\n¦if a:\n¦\"¦'''a¦#¦a = [¦lambda a: "))


def _package(parts: Mapping[str, str], types: Mapping[str, str]) -> bytes:
    """Return an office file; `types` are the content types of parts, the first of which is the document."""
    written = "".join(f'<Override PartName="/{name}" ContentType="{kind}"/>' for name, kind in types.items())
    default = (
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    )
    default += '<Default Extension="xml" ContentType="application/xml"/>'
    main = _relations({"r1": ("officeDocument", next(iter(types)))})
    head = {"[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">{default}{written}</Types>'}
    return zip_of({**head, "_rels/.rels": main, **parts}, 0)


def _relations(targets: Mapping[str, tuple[str, str]]) -> str:
    written = "".join(
        f'<Relationship Id="{name}" Type="{_RELATION}/{kind}" Target="{target}"/>'
        for name, (kind, target) in targets.items()
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{written}</Relationships>'


def _docx(
    body: str, relations: Mapping[str, tuple[str, str]] | None = None, parts: Mapping[str, str] | None = None
) -> bytes:
    document = f'<w:document {_WORD} xmlns:r="{_RELATION}"><w:body>{body}</w:body></w:document>'
    written = {
        "word/document.xml": document,
        "word/_rels/document.xml.rels": _relations(relations or {}),
        **(parts or {}),
    }
    return _package(written, {"word/document.xml": f"{_OOXML}.wordprocessingml.document.main+xml"})


_PARAGRAPH = "<w:p><w:r><w:t>a</w:t></w:r></w:p>"
_NUMBERED = '<w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr></w:pPr>'
_LISTED = f"<w:p>{_NUMBERED}<w:r><w:t>a</w:t></w:r></w:p>"


def _word(piece: str, head: str = "", tail: str = "") -> Make:
    return lambda size: _docx(head + piece * (size // len(piece)) + tail)


def _word_edges(size: int) -> bytes:
    """Return a document in which many relations lead to one long page header."""
    header = f"<w:hdr {_WORD}>{_PARAGRAPH * (size // 40)}</w:hdr>"
    many = {f"r{number}": ("header", "header1.xml") for number in range(size // 40)}
    return _docx(_PARAGRAPH, many, {"word/header1.xml": header})


def _word_levels(size: int) -> bytes:
    levels = "".join(
        f'<w:lvl w:ilvl="{number}"><w:lvlText w:val="%1"/></w:lvl>' for number in range(size // 40)
    )
    lists = f'<w:abstractNum w:abstractNumId="1">{levels}</w:abstractNum>'
    lists += '<w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num>'
    numbering = {"word/numbering.xml": f"<w:numbering {_WORD}>{lists}</w:numbering>"}
    return _docx(_LISTED * (size // 40), {"r1": ("numbering", "numbering.xml")}, numbering)


_WORDS: Shapes = {
    "paragraphs": _word(_PARAGRAPH),
    "items": _word(_LISTED),
    "runs": _word("<w:r><w:t>a</w:t></w:r>", "<w:p>", "</w:p>"),
    "one text": _word("a", "<w:p><w:r><w:t>", "</w:t></w:r></w:p>"),
    "rows": _word(f"<w:tr><w:tc>{_PARAGRAPH}</w:tc></w:tr>", "<w:tbl>", "</w:tbl>"),
    "cells": _word(f"<w:tc>{_PARAGRAPH}</w:tc>", "<w:tbl><w:tr>", "</w:tr></w:tbl>"),
    "never closed": _word("<w:p>"),
    "one header of many relations": _word_edges,
    "levels of a list": _word_levels,
}


def _slides(n_slides: int, text: str) -> bytes:
    """Return a presentation that shows one slide many times."""
    spaces = (
        'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:r="' + _RELATION + '"'
    )
    spaces += ' xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    ids = "".join(f'<p:sldId id="{256 + number}" r:id="r1"/>' for number in range(n_slides))
    shape = '<p:sp><p:nvSpPr><p:cNvPr id="2" name="a"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/><p:txBody>'
    shape = f"{shape}<a:bodyPr/>{text}</p:txBody></p:sp>"
    tree = '<p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>'
    tree = f"<p:spTree>{tree}{shape}</p:spTree>"
    parts = {
        "ppt/presentation.xml": f"<p:presentation {spaces}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": _relations({"r1": ("slide", "slides/slide1.xml")}),
        "ppt/slides/slide1.xml": f"<p:sld {spaces}><p:cSld>{tree}</p:cSld></p:sld>",
    }
    kind = f"{_OOXML}.presentationml"
    types = {
        "ppt/presentation.xml": f"{kind}.presentation.main+xml",
        "ppt/slides/slide1.xml": f"{kind}.slide+xml",
    }
    return _package(parts, types)


_LINE = "<a:p><a:r><a:t>a</a:t></a:r></a:p>"
_PRESENTATIONS: Shapes = {
    "paragraphs": lambda size: _slides(1, _LINE * (size // len(_LINE))),
    "one text": lambda size: _slides(1, _LINE.replace(">a<", f">{'a' * size}<")),
    "one slide shown often": lambda size: _slides(size // 40, _LINE * (size // 40)),
}


def _workbook(n_sheets: int, rows: str) -> bytes:
    spaces = f'xmlns="{_MAIN}" xmlns:r="{_RELATION}"'
    sheets = "".join(
        f'<sheet name="s{number}" sheetId="{number + 1}" r:id="r1"/>' for number in range(n_sheets)
    )
    parts = {
        "xl/workbook.xml": f"<workbook {spaces}><sheets>{sheets}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": _relations({"r1": ("worksheet", "worksheets/sheet1.xml")}),
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_MAIN}"><sheetData>{rows}</sheetData></worksheet>',
    }
    kind = f"{_OOXML}.spreadsheetml"
    types = {"xl/workbook.xml": f"{kind}.sheet.main+xml", "xl/worksheets/sheet1.xml": f"{kind}.worksheet+xml"}
    return _package(parts, types)


_ROW = "<row><c><v>1</v></c></row>"
_WORKBOOKS: Shapes = {
    "rows": lambda size: _workbook(1, _ROW * (size // len(_ROW))),
    "cells": lambda size: _workbook(1, f"<row>{'<c><v>1</v></c>' * (size // 15)}</row>"),
    "one text": lambda size: _workbook(1, f'<row><c t="inlineStr"><is><t>{"a" * size}</t></is></c></row>'),
    "one sheet listed often": lambda size: _workbook(size // 40, _ROW * (size // 40)),
}


def _odf(body: str, kind: str = "text") -> bytes:
    names = ("office", "text", "table", "style")
    spaces = (
        " ".join(f'xmlns:{name}="{_ODF}:{name}:1.0"' for name in names) + f' xmlns:draw="{_ODF}:drawing:1.0"'
    )
    spaces += ' xmlns:xlink="http://www.w3.org/1999/xlink"'
    body = f"<office:body><office:{kind}>{body}</office:{kind}></office:body>"
    content = f"<office:document-content {spaces}>{body}</office:document-content>"
    texts = "<text:p>a</text:p>" * (len(body) // 100)
    chart = f"<office:document-content {spaces}>{texts}</office:document-content>"
    mime = f"application/vnd.oasis.opendocument.{'spreadsheet' if kind == 'spreadsheet' else 'text'}"
    return zip_of({"mimetype": mime, "content.xml": content, "O/content.xml": chart}, 0)


def _flow(piece: str, head: str = "", tail: str = "", kind: str = "text") -> Make:
    return lambda size: _odf(head + piece * (size // len(piece)) + tail, kind)


_OPEN: Shapes = {
    "paragraphs": _flow("<text:p>a</text:p>"),
    "headings": _flow("<text:h>a</text:h>"),
    "one text": _flow("a", "<text:p>", "</text:p>"),
    "spans": _flow("<text:span>a</text:span>", "<text:p>", "</text:p>"),
    "items": _flow("<text:list-item><text:p>a</text:p></text:list-item>", "<text:list>", "</text:list>"),
    "blanks": _flow('<text:s text:c="999999999"/>', "<text:p>a", "b</text:p>"),
    "one object drawn often": _flow('<draw:object xlink:href="./O"/>'),
    "rows": _flow("<table:table-row/>", "<table:table>", "</table:table>", "spreadsheet"),
    "repeated cells": _flow(
        '<table:table-row><table:table-cell table:number-columns-repeated="9"><text:p>a</text:p>'
        "</table:table-cell></table:table-row>",
        *("<table:table>", "</table:table>", "spreadsheet"),
    ),
}
_CONTAINER = '<container><rootfiles><rootfile full-path="b.opf"/></rootfiles></container>'


def _book(n_chapters: int, text: str) -> bytes:
    """Return a book that has one chapter many times."""
    items = '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
    spine = '<itemref idref="a"/>' * n_chapters
    package = f"<package><manifest>{items}</manifest><spine>{spine}</spine></package>"
    return zip_of({"META-INF/container.xml": _CONTAINER, "b.opf": package, "a.xhtml": text}, 0)


_BOOKS: Shapes = {
    name: lambda size, make=make: _book(1, make(size).decode()) for name, make in _HTML.items()
} | {"one chapter listed often": lambda size: _book(size // 40, "<p>a</p>" * (size // 40))}


def _notebook(cell: Callable[[int], object]) -> Make:
    return lambda size: json.dumps({"nbformat": 4, "cells": [cell(size)]}).encode()


_NOTEBOOKS: Shapes = {
    "cells": lambda size: json.dumps(
        {"cells": [{"cell_type": "code", "source": "a"}] * (size // 30)}
    ).encode(),
    "pieces of a line": _notebook(lambda size: {"cell_type": "markdown", "source": ["a"] * (size // 4)}),
    "lines": _notebook(lambda size: {"cell_type": "code", "source": ["a\n"] * (size // 4)}),
    "outputs": _notebook(
        lambda size: {"cell_type": "code", "outputs": [{"data": {"text/plain": "a"}}] * (size // 30)}
    ),
    "page": _notebook(
        lambda size: {"cell_type": "code", "outputs": [{"data": {"text/html": "<a " * (size // 3)}}]}
    ),
    **_texts(*_split('[¦{"a":¦"\\u0041'), ("{},", '{"cells":[')),
}


def _message(text: str) -> bytes:
    return compound_file(outlook_message(texts={"0037": "a", "1000": text}))


def _pages(n_pages: int, n_lines: int, *cells: str) -> bytes:
    lines = [
        (50.0 + 100 * column, 800.0 - 700 * row / max(1, n_lines), text)
        for row in range(n_lines)
        for column, text in enumerate(cells or ("a",))
    ]
    return pdf_of(*[Page(lines=lines)] * n_pages)


def _picture(size: int) -> bytes:
    picture = io.BytesIO()
    Image.new("L", (size // 40, 40)).save(picture, "PNG")
    return picture.getvalue()


_RTF = (
    *(
        "{",
        "}",
        "\\par ",
        "{\\pict ff}",
        "\\'41",
        "\\pard",
        "\\u65?",
        *("\\u-10179?", "\\bin3 }}}", "{\\v a}", "{\\footnote a", "{\\header a}", "\\cell ", "\\row "),
        '{\\*\\fldinst HYPERLINK "a"}',
        "{\\footnote a}",
        "|",
        "\\cell \\row ",
        "ff",
    ),
)
SHAPES: Mapping[str, tuple[str, Shapes]] = {
    "markdown": ("a.md", _MARKDOWN),
    "html": ("a.html", _HTML),
    "rst": (
        "a.rst",
        _texts(
            *_split(
                "a\n=\n¦``¦`a¦`a`_ ¦|a| ¦[1]_ ¦*a¦:a:`b¦.. a:: b\n¦.. [1] a\n¦.. _a: b\n¦..\n\n¦- a\n¦- ¦"
                "a\n a\n¦:a: b\n¦+--+\n¦=== ===\n¦a::\n\n b\n¦1. a\n¦> ¦::\n¦a_ ¦| a\n"
            ),
            (" ", ":a:`b", "<`"),
        ),
    ),
    "asciidoc": (
        "a.adoc",
        _texts(
            *_split(
                "= a\n¦== a\n¦----\n¦|===\n¦image:¦image::[¦link:a[¦{a}¦footnote:[¦a::\n¦:¦::¦<<¦[[¦* a\n¦"
                "include::[¦[a]\n¦.a\n¦////\n"
            ),
            ("1", "|==="),
            (" ", "= a", "b"),
            ("a\n", "|===\n|a\n"),
            (" ", ":a: b\n= a", "!"),
            (" ", "= a\nA", "!"),
            ("{a}", f":a: {'b' * 400}\n"),
            ("\n", "\n".join(f"----{'-' * n}" for n in range(40))),
        ),
    ),
    "mediawiki": (
        "a.wiki",
        _texts(
            *_split(
                "{{¦}}¦[[¦[[a|¦''¦'''a¦= a =\n¦=¦* a\n¦; a: b\n¦{|\n¦|-\n¦<ref>¦<!--¦<nowiki>¦<a-¦"
                "[http://a ¦__A__¦<pre>a</pre>"
            ),
            ("a\n", "{|\n|a\n"),
            ("|a", "{|\n|"),
            ("-a", "{|\n|"),
            (" ", "= a", "b ="),
            (" ", "; a", "b"),
            ("1", "[[File:a|", "]]"),
        ),
    ),
    "org": (
        "a.org",
        _texts(
            *_split(
                "* a\n¦* a :b:\n¦#+BEGIN_SRC\n¦#+A: b\n¦:a:\n¦[[¦[fn:¦<<¦<¦{{{¦| a |\n¦|-¦- a\n¦#+begin_"
            ),
            (":a:\n", "", "* a\n:end:\n"),
            (" ", "* a", "b"),
            (" ", "|", "a"),
            ("<2024-01-01 ", "#+DATE: "),
            (":a:\n", "", ":end:\n"),
        ),
    ),
    "tex": (
        "a.tex",
        _texts(
            *_split(
                "{¦}¦\\a¦\\a{¦\\a[¦$¦$$a¦\\(¦\\[¦\\section{¦\\section{a}¦\\begin{math}¦"
                "\\begin{verbatim}\n¦%¦\\item[¦\\footnote{¦\\verb|¦\\title¦\\title[¦\\cite{a}¦"
                "\\begin{tabular}a&¦\\'¦``"
            ),
            (" ", "\\a", "b"),
            (" ", "\\title", "b"),
            (" ", "\\title{a}\\author{a", "b}"),
            (" \\and", "\\author{", "}"),
            ("\\section{a}\n", ""),
        ),
    ),
    "notebook": ("a.ipynb", _NOTEBOOKS),
    "xml": (
        "a.xml",
        {
            "titles": _many("<a><title>b</title>", "<book>"),
            "ends": _many("</a>", "<book>" + "<b>" * 100),
            "sections": _many("<![CDATA[a", "<content>"),
            "pages": _many("<content><![CDATA[a", "", "]]>"),
            "entities": _many('<!ENTITY a "', "<book>"),
            "declarations": _many("<?xml ", "<book>"),
            "types": _many("<!DOCTYPE a [", "<book>"),
            "comments": _many("<!---->"),
            "names": _many("<a:b c='", "<book>"),
        },
    ),
    "calendar": (
        "a.ics",
        _texts("BEGIN:VEVENT\nSUMMARY:a\n", "BEGIN:VEVENT\n", "END:VEVENT\n", " a\n", ";A=", "A:b\n"),
    ),
    "contacts": (
        "a.vcf",
        _texts("BEGIN:VCARD\nFN:a\n", "END:VCARD\n", "N;QUOTED-PRINTABLE:=\n", " a\n", ";A", "NOTE:\\;;\n"),
    ),
    "gettext": (
        "a.po",
        _texts('msgid "a"\n', 'msgstr "a"\n', '"a"\n', '#~ "\n', ('"\\n"\n', 'msgid "a"\nmsgstr "a"\n')),
    ),
    "drawio": (
        "a.drawio",
        _HTML | {"labels": _many("<mxCell value='a'/>"), "pages": _many("<diagram>a", "<mxfile>")},
    ),
    "excalidraw": ("a.excalidraw", _DATA | {"texts": _many('{"text":"a"},', '{"elements":[', "{}]}")}),
    "svg": (
        "a.svg",
        _HTML | {"spans": _many("a<b>", "<svg><text>"), "entities": _many('<!ENTITY a "', "<svg>")},
    ),
    "docx": ("a.docx", _WORDS),
    "pptx": ("a.pptx", _PRESENTATIONS),
    "xlsx": ("a.xlsx", _WORKBOOKS),
    "odf": ("a.odt", _OPEN),
    "rtf": (
        "a.rtf",
        {
            piece: _many(piece, "{\\rtf1 {\\s1 heading 1;}{\\s2 heading 2;}")
            for piece in ("a", " ", "\n", *_RTF)
        },
    ),
    "office_text": (
        "a.docx",
        _WORDS
        | {f"slides: {name}": each for name, each in _PRESENTATIONS.items()}
        | {f"sheets: {name}": each for name, each in _WORKBOOKS.items()},
    ),
    "epub": ("a.epub", _BOOKS),
    "email": ("a.eml", _MAIL),
    "mail_source": ("a.eml", _MAIL),
    "mbox": ("a.mbox", _MAIL),
    "web_archive": (
        "a.mht",
        {
            name: lambda size, make=make: b"Content-Type: text/html\n\n" + make(size)
            for name, make in _HTML.items()
        }
        | _MAIL,
    ),
    "outlook": (
        "a.msg",
        {
            name: lambda size, make=make: _message(make(size).decode())
            for name, make in _texts(*_split("From: a\n¦> a\n")).items()
        },
    ),
    "table": ("a.csv", _DATA),
    "log": ("a.log", _texts(*_split("2024-01-01 a\n¦ERROR a\n¦a b c ["))),
    "pdf": (
        "a.pdf",
        {
            "pages": lambda size: _pages(size // 100, 1),
            "lines": lambda size: _pages(1, size // 40),
            "one line": lambda size: pdf_of(Page(lines=[(50, 700, "a " * (size // 2))])),
            "notes": lambda size: pdf_of(
                Page(annotations=["<</Subtype/Text/Rect[0 0 9 9]/Contents(a)>>"] * (size // 40))
            ),
            "accents": lambda size: pdf_of(Page(lines=[(50, 700, "´e " * (size // 3))])),
            "codes": lambda size: pdf_of(Page(lines=[(50, 700, "\x03\x04 " * (size // 3))])),
            "cells": lambda size: _pages(1, size // 40, "a", "1", "b"),
            "layers": lambda size: pdf_of(
                Page(
                    operators="/OC/a BDC BT /F1 9 Tf 9 9 Td(a)Tj ET EMC " * (size // 45),
                    resources="/Properties<</a 10 0 R>>",
                ),
                catalogue="/OCProperties<</OCGs[10 0 R]/D<</OFF[10 0 R]>>>>",
                objects={10: "<</Type/OCG/Name(a)>>"},
            ),
        },
    ),
    "image": ("a.png", {"wide": _picture}),
    "transcript": ("a.vtt", _TRANSCRIPT),
    "properties": ("a.properties", _DATA),
    "structured": ("a.yaml", _DATA),
    "code": ("a.py", _CODE),
    "text": ("a.txt", _texts()),
}
