"""Office files that are hostile, damaged, locked, or named as another kind."""

import io
import re
import struct
import zipfile
from collections.abc import Callable

import pytest

from ingest.parsers import outline_writer
from ingest.parsers.errors import ParseRefused
from ingest.parsers.office import package
from ingest.parsers.registry import parse
from tests.support.archives import zip_of
from tests.support.samples import content_of

#: a part with text of each file
TEXT_PARTS = {
    "handbook.docx": "word/document.xml",
    "signals.pptx": "ppt/slides/slide1.xml",
    "tides.xlsx": "xl/worksheets/sheet1.xml",
}
NAMES = tuple(TEXT_PARTS)
SHEET = "xl/worksheets/sheet1.xml"
SHEET_SPACE = b"xmlns='http://schemas.openxmlformats.org/spreadsheetml/2006/main'"
BOMB = (
    b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">'
    + b"".join(b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(9))
    + b"]><x>&j;</x>"
)


def original(name: str) -> bytes:
    return content_of(f"office/{name}")


def rewritten(
    name: str, change: Callable[[str, bytes], bytes] = lambda _, known: known, **extra: bytes
) -> bytes:
    """Return the file with each part as `change` returns it, and further parts."""
    with zipfile.ZipFile(io.BytesIO(original(name))) as source:
        return zip_of({**{part: change(part, source.read(part)) for part in source.namelist()}, **extra})


def with_part(name: str, part: str, content: bytes) -> bytes:
    return rewritten(name, lambda one, known: content if one == part else known)


def assert_streamed(content: bytes, words: str = "Write each signal into the log.") -> None:
    document = parse(content, "a.docx")
    assert document.parser == "office_text"
    assert words in document.outline.lines


def operation_refusal(content: bytes, path: str, first_rung: int = 0) -> ParseRefused:
    with pytest.raises(ParseRefused) as refusal:
        parse(content, path, first_rung=first_rung)
    return refusal.value


@pytest.mark.parametrize("name", NAMES)
def test_entities_are_refused_by_every_reader(name):
    for content, rung in [
        (with_part(name, TEXT_PARTS[name], BOMB), 0),
        (with_part(name, TEXT_PARTS[name], BOMB.decode().encode("utf-16")), 0),
        (with_part(name, TEXT_PARTS[name], BOMB), 1),
        (with_part(name, "docProps/core.xml", BOMB), 0),
    ]:
        assert operation_refusal(content, name, rung).code == "xml_entities"


def test_hidden_and_external_entities_are_refused():
    def change(part: str, known: bytes) -> bytes:
        if part in ("[Content_Types].xml", "xl/_rels/workbook.xml.rels"):
            return known.replace(b"worksheets/sheet1.xml", b"worksheets/sheet1.bin")
        return known

    bomb = rewritten("tides.xlsx", change, **{"xl/worksheets/sheet1.bin": BOMB})
    assert operation_refusal(bomb, "a.xlsx").code == "xml_entities"
    external = b'<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><x>&f;</x>'
    assert (
        operation_refusal(with_part("handbook.docx", "word/document.xml", external), "a").code
        == "xml_entities"
    )


def test_limits_of_packages_are_refused(monkeypatch, subtests):
    bomb = rewritten("handbook.docx", **{"word/media/a.png": bytes(33 * 1024**2)})
    refusal = operation_refusal(bomb, "a.docx")
    assert (refusal.code, "34603008" in refusal.detail) == ("archive_bomb", True)
    for name, limit, code in [("MAX_XML_BYTES", 10_000, "too_large"), ("MAX_PARTS", 5, "archive_bomb")]:
        with subtests.test(case=name), monkeypatch.context() as patch:
            patch.setattr(package, name, limit)
            assert operation_refusal(original("handbook.docx"), "a.docx").code == code


def test_large_deep_and_lying_packages_are_streamed(monkeypatch, subtests):
    for limit in ("MAX_TREE_BYTES", "MAX_TREE_TAGS", "MAX_LIBRARY_BYTES"):
        with subtests.test(limit=limit), monkeypatch.context() as patch:
            patch.setattr(package, limit, 100)
            assert_streamed(original("handbook.docx"))
    deep = b"<w:r>" * 20_000 + b"<w:t>the deepest words</w:t>" + b"</w:r>" * 20_000
    space = b"xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'"
    content = b"<w:document %s><w:body><w:p>%s</w:p></w:body></w:document>" % (space, deep)
    assert_streamed(with_part("handbook.docx", "word/document.xml", content), "the deepest words")
    content = bytearray(rewritten("handbook.docx", **{"word/x.bin": b"a" * 5_000_000}))
    entry = content.rindex(package.DIRECTORY_ENTRY)
    struct.pack_into("<I", content, entry + 24, 10)  # its directory says that the part is smaller
    assert_streamed(bytes(content))


def test_string_shared_by_many_cells_cannot_multiply(monkeypatch):
    monkeypatch.setattr(outline_writer, "MAX_CHARS", 100_000)
    strings = b"<sst %s><si><t>%s</t></si></sst>" % (SHEET_SPACE, b"x" * 5_000)
    rows = (b"<row>" + b"<c t='s'><v>0</v></c>" * 10 + b"</row>") * 10
    sheet = b"<worksheet %s><sheetData>%s</sheetData></worksheet>" % (SHEET_SPACE, rows)
    parts = {"xl/sharedStrings.xml": strings, SHEET: sheet}
    content = rewritten("tides.xlsx", lambda part, known: parts.get(part, known))
    assert operation_refusal(content, "a.xlsx").code == "too_large"


def test_row_far_below_the_others_is_read():
    row = b"<row r='99999999999'><c r='ZZZ99999999999' t='inlineStr'><is><t>far away</t></is></c></row>"
    sheet = b"<worksheet %s><sheetData>%s</sheetData></worksheet>" % (SHEET_SPACE, row)
    document = parse(with_part("tides.xlsx", SHEET, sheet), "a.xlsx")
    assert document.parser == "office_text"
    assert any(line.endswith("far away") and len(line) < 100 for line in document.outline.lines)


def broken_lzma(name: str) -> bytes:
    """Return the file with parts that are packed by LZMA and broken."""
    with zipfile.ZipFile(io.BytesIO(original(name))) as source:
        parts = {part: source.read(part) for part in source.namelist()}
    packed = zip_of(parts, zipfile.ZIP_LZMA)
    with zipfile.ZipFile(io.BytesIO(packed)) as target:
        starts = [info.header_offset + 30 + len(info.filename) for info in target.infolist()]
    content = bytearray(packed)
    for start in starts:
        content[start + 9 : start + 30] = b"\xff" * 21  # after four bytes of zip's own and five of properties
    return bytes(content)


@pytest.mark.parametrize("name", NAMES)
def test_damaged_files_are_refused(name, subtests):
    def without_xml(part: str, known: bytes) -> bytes:
        return b"\x00\x01 no xml" if part.startswith(("word/", "ppt/", "xl/")) else known

    content = original(name)
    damaged = {f"cut at {share}": content[: int(len(content) * share)] for share in (0.1, 0.5, 0.99)}
    for case, each in {**damaged, "no xml": rewritten(name, without_xml), "lzma": broken_lzma(name)}.items():
        with subtests.test(case=case):
            assert operation_refusal(each, name).code == "damaged"


@pytest.mark.parametrize("name", NAMES)
def test_text_before_the_damage_is_kept(name):
    def change(part: str, known: bytes) -> bytes:
        return known[: len(known) * 3 // 4] if part == TEXT_PARTS[name] else known

    document = parse(rewritten(name, change), name)
    assert document.parser == "office_text"
    (omission,) = [each for each in document.omissions if each.kind == "unreadable_parts"]
    assert omission.amount == 1 and TEXT_PARTS[name] in omission.where[0]
    assert any(line.strip() for line in document.outline.lines)


def compound_file(stream: str) -> bytes:
    name = stream.encode("utf-16-le")
    entry = name.ljust(64, b"\0") + struct.pack("<H", len(name) + 2) + bytes(62)
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".ljust(512, b"\0") + entry


def test_other_kinds_are_refused_with_the_remedy(subtests):
    locked_part = bytearray(original("handbook.docx"))
    locked_part[locked_part.index(package.DIRECTORY_ENTRY) + 8] |= 1
    mentioned = b"\0" * 40 + "EncryptedPackage".encode("utf-16-le") + bytes(60)
    for content, path, code, word in [
        (b"", "a.docx", "damaged", "0 bytes"),
        (zip_of({"readme.txt": "words"}), "a.docx", "wrong_type", "zip"),
        (bytes(range(256)) * 8, "a.docx", "no_parser", ""),
        (original("locked.docx"), "a.docx", "encrypted", "password"),
        (bytes(locked_part), "a.docx", "encrypted", ""),
        (original("handbook.doc"), "handbook.doc", "old_format", ".docx"),
        (original("tides.xls"), "tides.xls", "old_format", ".xlsx"),
        (compound_file("PowerPoint Document"), "a.bin", "old_format", ".ppt"),
        (compound_file("__properties_version1.0"), "a.bin", "damaged", "Outlook"),
        (compound_file("EncryptedPackage"), "a.bin", "encrypted", "password"),
        (compound_file("Something"), "a.bin", "no_parser", "compound"),
        (compound_file("WordDocument") + mentioned, "a.doc", "old_format", ""),
    ]:
        with subtests.test(case=content[512:560] or content[:20], path=path):
            refusal = operation_refusal(content, path)
            assert refusal.code == code
            assert word in refusal.detail


def test_hostile_files_leave_the_limited_process_alive(shared_digester):
    shared_digester.digest(original("handbook.docx"), "a.docx")
    pid = shared_digester.child_pid
    for name in NAMES:
        with pytest.raises(ParseRefused):
            shared_digester.digest(with_part(name, TEXT_PARTS[name], BOMB), name)
    assert shared_digester.child_pid == pid


def as_strict(_: str, known: bytes) -> bytes:
    return re.sub(
        rb"http://schemas\.openxmlformats\.org/(?!package)(\w+)/2006/",
        rb"http://purl.oclc.org/ooxml/\1/",
        known,
    )


@pytest.mark.parametrize("name", NAMES)
def test_package_is_read_alike_in_the_spelling_of_any_program(name, subtests):
    known = parse(original(name), name)
    content = rewritten(name)
    for case, spelled in {
        "strict": rewritten(name, as_strict),
        "backslashes": respelled(content, lambda part: part.replace("/", "\\")),
        "lower case": respelled(content, str.lower),
        "upper case": respelled(content, str.upper),
        "absolute names": respelled(content, "/{}".format),
        "backslashes in targets": rewritten(name, with_backslashes),
        "relation to a missing part": rewritten(name, with_missing_part),
    }.items():
        with subtests.test(case=case):
            document = parse(spelled, name)
            assert (document.parser, document.warnings) == (known.parser, ())
            assert document.outline.lines == known.outline.lines


def respelled(content: bytes, spell: Callable[[str], str]) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as source:
        return zip_of({spell(part): source.read(part) for part in source.namelist()})


def with_backslashes(part: str, known: bytes) -> bytes:
    """Return relations with targets as `\\word\\document.xml`."""
    if not part.endswith(".rels"):
        return known
    return re.sub(rb'(?<=Target=")[^":]+', lambda found: found[0].replace(b"/", b"\\"), known)


def with_missing_part(part: str, known: bytes) -> bytes:
    relation = b'<Relationship Id="r99" Type="a/image" Target="gone.png"/></Relationships>'
    return known.replace(b"</Relationships>", relation) if part.endswith(".rels") else known


def test_damaged_part_of_an_oddly_named_package_is_still_told():
    cut = with_part("handbook.docx", "word/document.xml", b"<w:document xmlns:w='a'><w:p>")
    document = parse(respelled(cut, lambda part: part.replace("/", "\\")), "a.docx")
    assert document.parser == "office_text"
    assert [each.kind for each in document.omissions] == ["unreadable_parts"]
