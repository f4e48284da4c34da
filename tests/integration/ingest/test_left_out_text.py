"""Omissions of files of all families are reported with kind, amount and place."""

import base64
import io
import json
import zipfile
from collections.abc import Callable, Mapping

import pytest

from ingest.parsers.images import image
from ingest.parsers.pdf import parse as pdf
from ingest.parsers.registry import parse
from tests.support.archives import zip_of
from tests.support.compound_files import compound_file, outlook_message, properties
from tests.support.samples import content_of

WORDS = " ".join(f"word{number}" for number in range(100))
LONG = base64.b64encode(bytes(range(256)) * 3).decode()
MAIL = "From: Ida <ida@light.example>\nDate: Mon, 4 Mar 2024 10:00:00 +0000\n"
TNEF = "Content-Type: application/ms-tnef; name=winmail.dat\n\neJ8+"
ARTICLE = f"<main><h1>Tides</h1><p>{'The water rises twice a day. ' * 10}</p></main>"
SVG = '<svg><text x="1">Quay</text></svg>'


def changed(name: str, part: str, change: Callable[[bytes], bytes | None], **added: bytes) -> bytes:
    """Return a sample with a part changed, or left out for None, and others added."""
    with zipfile.ZipFile(io.BytesIO(content_of(f"office/{name}"))) as source:
        parts = {each: source.read(each) for each in source.namelist()}
    kept = change(parts.pop(part))
    return zip_of({**parts, **({} if kept is None else {part: kept}), **added})


def before(mark: str, inserted: str) -> Callable[[bytes], bytes]:
    """Return a change that inserts markup before the first of a mark."""
    return lambda part: part.replace(mark.encode(), (inserted + mark).encode(), 1)


def docx(inserted: str, **added: bytes) -> bytes:
    return changed("handbook.docx", "word/document.xml", before("<w:sectPr>", inserted), **added)


def odt(inserted: str) -> bytes:
    return changed("handbook.odt", "content.xml", before("</office:text>", inserted))


def related(name: str, part: str, type_: str, target: str) -> Callable[[bytes], bytes]:
    kind = f"http://schemas.openxmlformats.org/officeDocument/2006/relationships/{type_}"
    return before("</Relationships>", f'<Relationship Id="x1" Type="{kind}" Target="{target}"/>')


def multipart(*parts: str) -> bytes:
    body = "".join(f"--part\n{part}\n" for part in parts)
    return f'{MAIL}Content-Type: multipart/mixed; boundary="part"\n\n{body}--part--\n'.encode()


def notebook() -> bytes:
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": [f"line {number}\n" for number in range(42)]},
        {"output_type": "display_data", "data": {"image/png": LONG, "text/plain": "<Figure>"}},
    ]
    cell = {"cell_type": "code", "execution_count": 1, "source": "run()", "outputs": outputs, "metadata": {}}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def outlook() -> bytes:
    part = properties({"3707": "smime.p7m", "370E": "application/pkcs7-mime"}, {}, header=8)
    part["__substg1.0_37010102"] = b"\x30\x80"
    texts = {"0037": "Lens", "1000": "See the attachment."}
    return compound_file(outlook_message(texts=texts, extra={"__attach_version1.0_#00000000": part}))


def sheet_with_file() -> bytes:
    relations = related("", "", "package", "../embeddings/plan.docx")(
        b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"></Relationships>'
    )
    added = {"xl/worksheets/_rels/sheet1.xml.rels": relations, "xl/embeddings/plan.docx": b"PK"}
    return changed("tides.xlsx", "docProps/app.xml", lambda part: part, **added)


Omitted = Mapping[str, int | tuple[int, str]]
#: by path: the file, and by kind what is left out, with a place where one is named
FILES: Mapping[str, tuple[Callable[[], bytes], Omitted]] = {
    "menu.html": (lambda: f"<nav>{'<a href=x>Menu</a>' * 10}</nav>{ARTICLE}".encode(), {"site_parts": 40}),
    "drawn.html": (lambda: ARTICLE.replace("</p>", f"</p>{SVG}").encode(), {"drawings": 1}),
    "hidden.html": (
        lambda: ARTICLE.replace("</p>", f"</p><div aria-hidden=true>{WORDS}</div>").encode(),
        {"hidden_text": 689, "read_in_part": 100},
    ),
    "chapters.epub": (
        lambda: changed("handbook.epub", "OEBPS/sections/section0002.xhtml", lambda _: None),
        {"unreadable_parts": (1, "chapter 2")},
    ),
    "again.epub": (
        lambda: changed(
            "handbook.epub", "OEBPS/content.opf", before("</spine>", '<itemref idref="section0001"/>')
        ),
        {"repeated_parts": (1, "chapter 4")},
    ),
    "edited.docx": (
        lambda: docx(
            '<w:p><w:del w:id="1" w:author="Ida"><w:r><w:delText>struck out</w:delText></w:r></w:del>'
            "<w:r><w:rPr><w:vanish/></w:rPr><w:t>for the printer</w:t></w:r></w:p>"
        ),
        {"deleted_text": 10, "hidden_text": 15},
    ),
    "loose.docx": (
        lambda: docx("".join(f"<w:r><w:t>{word} </w:t></w:r>" for word in f"{WORDS} {WORDS}".split())),
        {"read_in_part": 100},
    ),
    "cut.docx": (
        lambda: changed("handbook.docx", "word/document.xml", lambda part: part[: len(part) * 3 // 4]),
        {"unreadable_parts": (1, "word/document.xml")},
    ),
    "again.pptx": (
        lambda: changed(
            "signals.pptx", "ppt/presentation.xml", before("</p:sldIdLst>", '<p:sldId id="259" r:id="rId6"/>')
        ),
        {"repeated_parts": (1, "slide 4"), "repeated_lines": (1, "slide 1")},
    ),
    "again.xlsx": (
        lambda: changed(
            "tides.xlsx",
            "xl/workbook.xml",
            before("</sheets>", '<sheet name="Again" sheetId="3" r:id="rId2"/>'),
        ),
        {"repeated_parts": (1, "sheet 3")},
    ),
    "embedded.xlsx": (sheet_with_file, {"embedded_files": (1, "plan.docx")}),
    "edited.odt": (
        lambda: odt(
            "<text:tracked-changes><text:changed-region><text:deletion><office:change-info/>"
            "<text:p>struck out</text:p></text:deletion></text:changed-region></text:tracked-changes>"
        ),
        {"deleted_text": 10},
    ),
    "objects.odt": (
        lambda: odt(
            '<text:p><draw:frame><draw:object xlink:href="./Object 1"/></draw:frame>'
            '<draw:frame><draw:object-ole xlink:href="./Object 2"/></draw:frame></text:p>'
        ),
        {"unreadable_parts": (1, "Object 1"), "embedded_files": (1, "Object 2")},
    ),
    "edited.rtf": (
        lambda: (
            rb"{\rtf1 Kept {\deleted struck out}{\v for the printer}"
            rb"{\object{\*\objclass Excel.Sheet.12}}\par}"
        ),
        {"deleted_text": 10, "hidden_text": 15, "embedded_files": (1, "Excel.Sheet.12")},
    ),
    "closed.eml": (
        lambda: multipart("Content-Type: text/plain\n\nSee below.", TNEF),
        {"closed_parts": (1, "winmail.dat")},
    ),
    "many.eml": (lambda: multipart(*["\ntext"] * 510), {"beyond_limit": (11, "parts")}),
    "two.mbox": (
        lambda: b"".join(
            b"From ida Mon Mar  4 10:00:00 2024\n" + multipart("\nOil.", TNEF) + b"\n" for _ in "ab"
        ),
        {"closed_parts": 2},
    ),
    "closed.msg": (outlook, {"closed_parts": (1, "smime.p7m")}),
    "crew.vcf": (
        lambda: f"BEGIN:VCARD\nFN:Ida East\nPHOTO;ENCODING=b:{LONG}\nEND:VCARD\n".encode(),
        {"encoded_data": len(LONG)},
    ),
    "year.ics": (
        lambda: b"BEGIN:VCALENDAR\n" + b"BEGIN:VEVENT\nSUMMARY:Watch\nEND:VEVENT\n" * 503,
        {"beyond_limit": (3, "events")},
    ),
    "gates.drawio": (
        lambda: (
            b"<mxfile><diagram name='Gates'>no pages</diagram><diagram><mxGraphModel><root>"
            b"<mxCell value='Upper gate'/></root></mxGraphModel></diagram></mxfile>"
        ),
        {"unreadable_parts": 1},
    ),
    "harbour.po": (lambda: content_of("gettext/harbour.po"), {"comments": 2, "deleted_text": 26}),
    "tides.ipynb": (
        notebook,
        {"pictures": (1, "cell 1"), "beyond_limit": (1, "12 lines")},
    ),
    "notice.png": (lambda: content_of("image/notice.png"), {"pictures": 1}),
    "moorings.md": (
        lambda: f"# Moorings\n\n![x](data:image/png;base64,{LONG})\n".encode(),
        {"encoded_data": 1_032},
    ),
    "key.txt": (lambda: f"The key:\n\n{LONG}\n".encode(), {"encoded_data": len(LONG) - 1}),
    "rules.mht": (
        lambda: (
            b"MIME-Version: 1.0\nContent-Type: text/html\n\n<nav><a href=x>Menu</a></nav>" + ARTICLE.encode()
        ),
        {"site_parts": 4},
    ),
    "scanned.pdf": (lambda: content_of("pdf/scanned.pdf"), {"scanned_pages": (1, "page 1")}),
}


@pytest.fixture(autouse=True)
def without_ocr(monkeypatch):
    for module in (image, pdf):
        monkeypatch.setattr(module, "is_ocr_installed", lambda: False)


@pytest.mark.parametrize("path", FILES)
def test_text_that_is_left_out_is_reported(path):
    make, expected = FILES[path]
    omissions = {each.kind: each for each in parse(make(), path).omissions}
    assert {kind: each.amount for kind, each in omissions.items()} == {
        kind: amount[0] if isinstance(amount, tuple) else amount for kind, amount in expected.items()
    }
    for kind, amount in expected.items():
        assert not isinstance(amount, tuple) or amount[1] in omissions[kind].where[0]
