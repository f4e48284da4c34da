"""Calendars, contacts and diagrams are sections and labels; encoded data and pointers are left out."""

import base64
import zlib
from urllib.parse import quote

import pytest

from ingest.parsers.errors import ParseRefused
from ingest.parsers.registry import parse

PAGE = '<mxGraphModel><root><mxCell value="Lock &lt;b&gt;gate&lt;/b&gt;"/></root></mxGraphModel>'


def lines_of(content, path):
    return [line for line in parse(content, path).outline.lines if line]


@pytest.mark.parametrize("path", ["a.ics", "unnamed"])
def test_events_are_sections(path):
    calendar = (
        b"BEGIN:VCALENDAR\nX-WR-CALNAME:Crew\nBEGIN:VEVENT\nDTSTART:20260310T090000Z\n"
        b"SUMMARY:Dredging\\, with\n"
        b"  the harbour board\nLOCATION:Pier 4\nEND:VEVENT\nEND:VCALENDAR\n"
    )
    parsed = parse(calendar, path)
    assert parsed.title == "Crew"
    assert lines_of(calendar, path) == [
        "Dredging, with the harbour board",
        "When: 2026-03-10 09:00 UTC",
        "Where: Pier 4",
    ]


@pytest.mark.parametrize("path", ["a.vcf", "unnamed"])
def test_people_are_sections_without_their_photos(path):
    cards = (
        b"BEGIN:VCARD\nVERSION:2.1\nN;ENCODING=QUOTED-PRINTABLE:M=C3=BC=\nller;J\nTEL;CELL:040\nEND:VCARD\n"
        b"BEGIN:VCARD\nFN:Solveig Tern\nitem1.NOTE:ice\n breaker\nPHOTO;ENCODING=b:AAAA\n BBBB\n"
        b"ADR:;;Quay 1;Oslo;;;\nEND:VCARD\n"
    )
    assert lines_of(cards, path) == [
        "J Müller",
        "Phone: 040",
        "Solveig Tern",
        "Note: icebreaker",
        "Address: Quay 1, Oslo",
    ]
    assert [(each.kind, each.amount) for each in parse(cards, path).omissions] == [("encoded_data", 8)]


def test_labels_of_diagrams_are_read_packed_or_not():
    packer = zlib.compressobj(wbits=-15)
    packed = base64.b64encode(packer.compress(quote(PAGE).encode()) + packer.flush()).decode()
    for page in (PAGE, packed):
        diagram = f'<mxfile><diagram name="Gates">{page}</diagram></mxfile>'.encode()
        for path in ("a.drawio", "unnamed"):
            assert lines_of(diagram, path) == ["Gates", "Lock gate"]
    drawing = b'{"elements": [{"text": "Sluice\\ngate"}, {"text": "x", "isDeleted": true}, {"type": "line"}]}'
    assert lines_of(drawing, "a.excalidraw") == ["Sluice gate"]


def test_packed_diagram_does_not_grow_without_end():
    packer = zlib.compressobj(wbits=-15)
    packed = base64.b64encode(packer.compress(b"a" * 20 * 1024**2) + packer.flush()).decode()
    with pytest.raises(ParseRefused) as caught:
        parse(f"<mxfile><diagram>{packed}</diagram></mxfile>".encode(), "a.drawio")
    assert caught.value.code == "archive_bomb"


def test_encoded_data_is_left_out():
    data = base64.b64encode(bytes(range(256)) * 4).decode()
    wrapped = "\n".join(data[start : start + 76] for start in range(0, len(data), 76))
    content = f"# Mooring\n![chart](data:image/png;base64,{data})\n{data}\n{wrapped}\nShackles\n".encode()
    assert lines_of(content, "a.md") == ["# Mooring", "![chart](data:image/png)", "…", "…", "Shackles"]
    (omission,) = parse(content, "a.md").omissions
    assert omission.kind == "encoded_data"
    assert omission.amount > 3 * len(data)
    assert lines_of(f"KEY = '{data}'\n".encode(), "a.py") == [f"KEY = '{data}'"]


def test_pointers_of_git_lfs_are_refused():
    with pytest.raises(ParseRefused) as caught:
        parse(b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n", "plan.pdf")
    assert caught.value.code == "lfs_pointer"
