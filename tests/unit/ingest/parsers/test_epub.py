"""EPUB books: chapters, metadata, protected and hostile archives."""

import io
import zipfile

import pytest

from ingest.parsers.errors import ParseRefused
from ingest.parsers.omissions import Omission
from ingest.parsers.registry import parse
from ingest.parsers.types import PageSpan

CONTAINER = """<?xml version="1.0"?>
<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles>
<rootfile full-path="OPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>"""
PACKAGE = """<?xml version="1.0"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0"
 xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>
<dc:title>Tides of the quay</dc:title><dc:creator>Ada Pike</dc:creator><dc:creator>Bo Carp</dc:creator>
<dc:date>2021-03-04</dc:date><meta property="dcterms:modified">2022-05-06T07:08:09Z</meta></metadata>
<manifest><item id="two" href="text/two%20b.xhtml" media-type="application/xhtml+xml"/>
<item id="one" href="text/one.xhtml" media-type="application/xhtml+xml"/>
<item id="lost" href="text/lost.xhtml" media-type="application/xhtml+xml"/>
<item id="nav" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>
<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>
<item id="map" href="map.svg" media-type="image/svg+xml"/></manifest>
<spine toc="ncx"><itemref idref="nav"/><itemref idref="one"/><itemref idref="map"/><itemref idref="two"/>
<itemref idref="lost"/></spine></package>"""
NAV = """<html xmlns:epub="x"><nav epub:type="toc"><ol><li><a href="text/one.xhtml">Ebb</a></li>
<li><a href="text/two%20b.xhtml#top">Flood <i>tide</i></a></li></ol></nav></html>"""
NCX = """<ncx><navMap><navPoint><navLabel><text>Flood tide</text></navLabel>
<content src="text/two%20b.xhtml"/>
</navPoint></navMap></ncx>"""
ONE = """<?xml version="1.0" encoding="utf-8"?><html><head><title>x</title></head><body><h1>Ebb</h1>
<p>Water falls.</p><table><tr><th>Gauge</th><th>Depth</th></tr><tr><td>upper</td><td>5</td></tr></table>
<pre>run
now</pre><h2>Neap</h2><ul><li>weak</li></ul></body></html>"""
TWO = "<html><body><p>Water rises.<img src='a.png' alt='Curve'/></p></body></html>"
PARTS = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": CONTAINER,
    "OPS/book.opf": PACKAGE,
    "OPS/nav.xhtml": NAV,
    "OPS/toc.ncx": NCX,
    "OPS/text/one.xhtml": ONE,
    "OPS/text/two b.xhtml": TWO,
}


def epub(**changes: str | bytes | None) -> bytes:
    """Return a book; a changed part of None is left out."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in {**PARTS, **changes}.items():
            if text is not None:
                archive.writestr(name, text)
    return written.getvalue()


def refusal(content: bytes) -> str:
    with pytest.raises(ParseRefused) as refused:
        parse(content, "a.epub")
    return refused.value.code


@pytest.mark.parametrize("contents", ["nav", "ncx"])
def test_chapters_are_pages_in_reading_order(contents):
    package = (
        PACKAGE
        if contents == "nav"
        else PACKAGE.replace(' properties="nav"', "").replace('<itemref idref="nav"/>', "")
    )
    parsed = parse(epub(**{"OPS/book.opf": package}), "a.bin")
    outline = parsed.outline
    texts = ["\n".join(outline.lines[b.span.start - 1 : b.span.end]) for b in outline.blocks]
    assert [(b.kind, text) for b, text in zip(outline.blocks, texts, strict=True)] == [
        ("heading", "Ebb"),
        ("paragraph", "Water falls."),
        ("table", "Gauge | Depth\nupper | 5"),
        ("code", "run\nnow"),
        ("heading", "Neap"),
        ("list", "weak"),
        ("heading", "Flood tide"),
        ("paragraph", "Water rises. Curve"),
    ]
    first = 2 if contents == "nav" else 1
    assert (outline.origins[0], outline.origins[-1]) == (PageSpan(first), PageSpan(first + 2))
    assert outline.walls == (outline.blocks[6].span.start,)
    assert (parsed.title, parsed.media, parsed.mime) == (
        "Tides of the quay",
        "office",
        "application/epub+zip",
    )
    assert parsed.metadata == {
        "author": "Ada Pike, Bo Carp",
        "created": "2021-03-04",
        "modified": "2022-05-06T07:08:09+00:00",
    }
    (omission,) = parsed.omissions
    assert (omission.kind, omission.amount, "lost" in omission.where[0]) == ("unreadable_parts", 1, True)


def test_protected_book_is_refused_and_obfuscated_fonts_are_not():
    method = '<encryption><EncryptedData><EncryptionMethod Algorithm="{}"/></EncryptedData></encryption>'
    aes = method.format("http://www.w3.org/2001/04/xmlenc#aes128-cbc")
    assert refusal(epub(**{"META-INF/encryption.xml": aes})) == "encrypted"
    fonts = method.format("http://www.idpf.org/2008/embedding")
    assert parse(epub(**{"META-INF/encryption.xml": fonts}), "a.epub").title == "Tides of the quay"


def test_damaged_and_hostile_books_are_refused(subtests):
    whole = epub()
    entities = '<!DOCTYPE p [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
    for content, code in [
        (b"", "damaged"),
        (whole[: len(whole) // 2], "damaged"),
        (epub(**{"OPS/book.opf": None}), "damaged"),
        (epub(**{"OPS/book.opf": "<package><"}), "damaged"),
        (epub(**{"META-INF/container.xml": "<container/>"}), "damaged"),
        (epub(**{"OPS/book.opf": entities + "<package>&b;</package>"}), "xml_entities"),
        (epub(**{"OPS/text/one.xhtml": b" " * (40 * 1024**2)}), "archive_bomb"),
        (epub(**{"OPS/text/one.xhtml": b" " * (17 * 1024**2)}), "too_large"),
    ]:
        with subtests.test(case=content[-30:]):
            assert refusal(content) == code
    again = PACKAGE.replace('<itemref idref="one"/>', '<itemref idref="one"/>' * 2_000)
    repeated = parse(epub(**{"OPS/book.opf": again}), "a.epub")
    assert repeated.outline.lines == parse(whole, "a.epub").outline.lines
    places = ("chapter 3", "chapter 4", "chapter 5", "…")
    assert Omission(kind="repeated_parts", amount=1999, where=places) in repeated.omissions
    unknown = PACKAGE.replace('<itemref idref="one"/>', '<itemref idref="x"/><itemref idref="y"/>')
    (lost,) = parse(epub(**{"OPS/book.opf": unknown}), "a.epub").omissions
    assert {"chapter 2, x", "chapter 3, y"} <= {*lost.where}
    deep = epub(**{"OPS/text/one.xhtml": "<div>" * 5_000 + "deep", "OPS/nav.xhtml": "<a href=" * 5_000})
    assert "deep" in parse(deep, "a.epub").outline.lines
