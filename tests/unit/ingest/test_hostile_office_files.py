import io
import struct
import zipfile
from collections.abc import Callable

import pytest

from ingest.parsers import office_package, outline_writer
from ingest.parsers.errors import ParseRefused
from ingest.parsers.registry import parse
from ingest.sandbox.digester import Digester
from tests.support.paths import FILES

OFFICE = FILES / "office"
NAMES = ("handbook.docx", "signals.pptx", "tides.xlsx")
TEXT_PARTS = {
    "handbook.docx": "word/document.xml",
    "signals.pptx": "ppt/slides/slide1.xml",
    "tides.xlsx": "xl/worksheets/sheet1.xml",
}
BOMB = (
    b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">'
    + b"".join(b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(9))
    + b"]><x>&j;</x>"
)


def original(name: str) -> bytes:
    return (OFFICE / name).read_bytes()


def rewritten(name: str, change: Callable[[str, bytes], bytes], **extra: bytes) -> bytes:
    """The file with each part as `change` gives it, and further parts."""
    written = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(original(name))) as source,
        zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for part in source.namelist():
            target.writestr(part, change(part, source.read(part)))
        for part, content in extra.items():
            target.writestr(part, content)
    return written.getvalue()


def with_part(name: str, part: str, content: bytes) -> bytes:
    return rewritten(name, lambda one, known: content if one == part else known)


def refusal_of(content: bytes, path: str) -> ParseRefused:
    with pytest.raises(ParseRefused) as refusal:
        parse(content, path)
    return refusal.value


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("charset", ["utf-8", "utf-16"])
def test_entities_in_the_text_are_refused(name, charset):
    bomb = BOMB.decode().encode(charset)
    refusal = refusal_of(with_part(name, TEXT_PARTS[name], bomb), name)
    assert refusal.code == "xml_entities"
    assert "document type" in refusal.detail


@pytest.mark.parametrize("name", NAMES)
def test_entities_in_the_properties_are_refused(name):
    assert refusal_of(with_part(name, "docProps/core.xml", BOMB), name).code == "xml_entities"


@pytest.mark.parametrize("name", NAMES)
def test_simpler_reader_refuses_entities_too(name):
    with pytest.raises(ParseRefused) as refusal:
        parse(with_part(name, TEXT_PARTS[name], BOMB), name, first_rung=1)
    assert refusal.value.code == "xml_entities"


def test_entities_in_a_sheet_with_another_name_are_refused():
    def change(part: str, known: bytes) -> bytes:
        if part in ("[Content_Types].xml", "xl/_rels/workbook.xml.rels"):
            return known.replace(b"worksheets/sheet1.xml", b"worksheets/sheet1.bin")
        return known

    bomb = rewritten("tides.xlsx", change, **{"xl/worksheets/sheet1.bin": BOMB})
    assert refusal_of(bomb, "a.xlsx").code == "xml_entities"


def test_external_entity_is_refused():
    content = b'<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><x>&f;</x>'
    assert (
        refusal_of(with_part("handbook.docx", "word/document.xml", content), "a.docx").code == "xml_entities"
    )


def test_part_that_unpacks_to_a_thousand_times_its_size_is_refused():
    bomb = rewritten("handbook.docx", lambda _, known: known, **{"word/media/a.png": bytes(64 * 1024**2)})
    refusal = refusal_of(bomb, "a.docx")
    assert refusal.code == "archive_bomb"
    assert "unpack to 67108864" in refusal.detail


def test_more_xml_than_the_limit_is_refused(monkeypatch):
    monkeypatch.setattr(office_package, "MAX_XML_BYTES", 10_000)
    assert refusal_of(original("handbook.docx"), "a.docx").code == "too_large"


def test_more_parts_than_the_limit_are_refused(monkeypatch):
    monkeypatch.setattr(office_package, "MAX_PARTS", 5)
    assert refusal_of(original("handbook.docx"), "a.docx").code == "archive_bomb"


@pytest.mark.parametrize("limit", ["MAX_TREE_BYTES", "MAX_TREE_TAGS", "MAX_LIBRARY_BYTES"])
def test_xml_too_large_for_a_tree_is_streamed(monkeypatch, limit):
    monkeypatch.setattr(office_package, limit, 100)
    document = parse(original("handbook.docx"), "a.docx")
    assert document.parser == "office_text"
    assert "Write each signal into the log." in document.outline.lines


def test_part_larger_than_its_directory_says_is_read_by_nobody():
    content = bytearray(
        rewritten("handbook.docx", lambda _, known: known, **{"word/x.bin": b"a" * 5_000_000})
    )
    entry = content.rindex(office_package.DIRECTORY_ENTRY)
    struct.pack_into("<I", content, entry + 24, 10)
    document = parse(bytes(content), "a.docx")
    assert document.parser == "office_text"
    assert "Write each signal into the log." in document.outline.lines


def test_string_that_many_cells_share_cannot_multiply(monkeypatch):
    monkeypatch.setattr(outline_writer, "MAX_CHARS", 100_000)
    shared = (
        b"<sst xmlns='http://schemas.openxmlformats.org/spreadsheetml/2006/main'><si><t>%s</t></si></sst>"
    )
    row = b"<row>" + b"<c t='s'><v>0</v></c>" * 10 + b"</row>"
    sheet = b"<worksheet xmlns='http://schemas.openxmlformats.org/spreadsheetml/2006/main'><sheetData>%s</sheetData>"

    def change(part: str, known: bytes) -> bytes:
        if part == "xl/sharedStrings.xml":
            return shared % (b"x" * 5_000)
        return sheet % (row * 10) + b"</worksheet>" if part == "xl/worksheets/sheet1.xml" else known

    assert refusal_of(rewritten("tides.xlsx", change), "a.xlsx").code == "too_large"


def test_row_far_below_the_others_is_read():
    sheet = (
        b"<worksheet xmlns='http://schemas.openxmlformats.org/spreadsheetml/2006/main'><sheetData>"
        b"<row r='99999999999'><c r='ZZZ99999999999' t='inlineStr'><is><t>far away</t></is></c></row>"
        b"</sheetData></worksheet>"
    )
    document = parse(with_part("tides.xlsx", "xl/worksheets/sheet1.xml", sheet), "a.xlsx")
    assert document.parser == "office_text"
    assert any(line.endswith("far away") and len(line) < 100 for line in document.outline.lines)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_file_that_was_cut_off_is_refused(name, share):
    content = original(name)
    refusal = refusal_of(content[: int(len(content) * share)], name)
    assert refusal.code == "damaged"
    assert "damaged or was cut off" in refusal.detail


@pytest.mark.parametrize("name", NAMES)
def test_text_before_the_damage_is_kept(name):
    def change(part: str, known: bytes) -> bytes:
        return known[: len(known) * 3 // 4] if part == TEXT_PARTS[name] else known

    document = parse(rewritten(name, change), name)
    assert document.parser == "office_text"
    assert any(TEXT_PARTS[name] in warning for warning in document.warnings)
    assert any(line.strip() for line in document.outline.lines)


@pytest.mark.parametrize("name", NAMES)
def test_file_without_any_readable_text_is_refused(name):
    def change(part: str, known: bytes) -> bytes:
        return b"\x00\x01 no xml" if part.startswith(("word/", "ppt/", "xl/")) else known

    assert refusal_of(rewritten(name, change), name).code == "damaged"


def test_empty_file_is_refused():
    assert refusal_of(b"", "a.docx").detail == "the file is empty: it has 0 bytes"


def test_archive_that_is_no_office_file_is_refused():
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("readme.txt", "words")
    refusal = refusal_of(written.getvalue(), "a.docx")
    assert (refusal.code, refusal.detail) == ("wrong_type", "the file is a zip archive, but not one of Word")


def test_text_with_the_name_of_an_office_file_is_read_as_text():
    assert parse(b"Just words.\n", "a.docx").parser == "text"
    assert parse(b"<html><table><tr><td>a<td>b</table>", "a.xlsx").parser == "html"


def test_bytes_with_the_name_of_an_office_file_are_no_text():
    assert refusal_of(bytes(range(256)) * 8, "a.docx").code == "no_parser"


def test_locked_file_says_so():
    refusal = refusal_of(original("locked.docx"), "a.docx")
    assert refusal.code == "encrypted"
    assert "password" in refusal.detail


def test_locked_part_says_so():
    content = bytearray(original("handbook.docx"))
    content[content.index(office_package.DIRECTORY_ENTRY) + 8] |= 1
    assert refusal_of(bytes(content), "a.docx").code == "encrypted"


@pytest.mark.parametrize(("name", "advice"), [("handbook.doc", ".docx"), ("tides.xls", ".xlsx")])
def test_old_format_says_what_to_do(name, advice):
    refusal = refusal_of(original(name), name)
    assert refusal.code == "old_format"
    assert refusal.detail.endswith(f"save the file as {advice}")


def compound_file(stream: str) -> bytes:
    name = stream.encode("utf-16-le")
    entry = name.ljust(64, b"\0") + struct.pack("<H", len(name) + 2) + bytes(62)
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".ljust(512, b"\0") + entry


@pytest.mark.parametrize(
    ("stream", "code", "word"),
    [
        ("PowerPoint Document", "old_format", ".ppt"),
        ("__properties_version1.0", "old_format", ".msg"),
        ("EncryptedPackage", "encrypted", "password"),
        ("Something", "no_parser", "compound"),
    ],
)
def test_compound_files_are_told_apart(stream, code, word):
    refusal = refusal_of(compound_file(stream), "a.bin")
    assert refusal.code == code
    assert word in refusal.detail


def test_words_of_a_text_do_not_decide_what_a_compound_file_is():
    content = compound_file("WordDocument") + b"\0" * 40 + "EncryptedPackage".encode("utf-16-le") + bytes(60)
    assert refusal_of(content, "a.doc").code == "old_format"


def test_deeply_nested_markup_is_read():
    deep = b"<w:r>" * 20_000 + b"<w:t>the deepest words</w:t>" + b"</w:r>" * 20_000
    space = b"xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'"
    content = b"<w:document %s><w:body><w:p>%s</w:p></w:body></w:document>" % (space, deep)
    document = parse(with_part("handbook.docx", "word/document.xml", content), "a.docx")
    assert document.parser == "office_text"
    assert "the deepest words" in document.outline.lines


def test_hostile_files_leave_the_sandbox_alive():
    with Digester() as digester:
        digester.digest(original("handbook.docx"), "a.docx")
        pid = digester.child_pid
        for name in NAMES:
            with pytest.raises(ParseRefused):
                digester.digest(with_part(name, TEXT_PARTS[name], BOMB), name)
        assert digester.child_pid == pid


@pytest.mark.parametrize("name", NAMES)
def test_part_that_is_broken_lzma_is_refused(name):
    with zipfile.ZipFile(io.BytesIO(original(name))) as source:
        parts = {part: source.read(part) for part in source.namelist()}
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_LZMA) as target:
        for part, content in parts.items():
            target.writestr(part, content)
        starts = [info.header_offset + 30 + len(info.filename) for info in target.infolist()]
    content = bytearray(written.getvalue())
    for start in starts:
        content[start + 9 : start + 30] = b"\xff" * 21  # after four bytes of zip's own and five of properties
    assert refusal_of(bytes(content), name).code == "damaged"
