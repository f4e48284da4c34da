"""Outlook messages: headers, the better body, attachments, attached messages, damaged files."""

import pytest

from ingest.parsers.errors import ParseRefused
from ingest.parsers.registry import parse
from ingest.parsers.types import LineSpan
from tests.support.compound_files import compound_file, outlook_message, properties

#: steps of 100 ns since 1601
SENT = 133_000_000_000_000_000
TEXTS = {"0037": "Buoy off Skerry", "0C1A": "Ruth Carr", "5D01": "ruth@light.example"}
ADDRESSEE = properties({"3001": "Bell, Amos", "39FE": "amos@light.example"}, {0x0C15: (3, 1)}, header=8)
COPIED = properties({"3001": "/O=EX/CN=BOARD", "3003": "/O=EX/CN=BOARD"}, {0x0C15: (3, 2)}, header=8)


def attachment(name, content=b"", kind="application/pdf"):
    streams = {"__substg1.0_37010102": content} if content else {}
    return {**properties({"3707": name, "370E": kind}, {}, header=8), **streams}


def message(*, body="The buoy drifted.", extra=None, texts=None):
    return outlook_message(
        texts={**TEXTS, **({"1000": body} if body else {}), **(texts or {})},
        numbers={0x0039: (0x40, SENT), 0x3FDE: (3, 1251)},
        extra={
            "__recip_version1.0_#00000000": ADDRESSEE,
            "__recip_version1.0_#00000001": COPIED,
            **(extra or {}),
        },
    )


def read(tree, name="a.msg"):
    return parse(compound_file(tree), name)


def test_message_reads_like_a_mail_with_lines_of_its_text():
    document = read(message(extra={"__attach_version1.0_#00000000": attachment("chart.pdf")}))
    assert (document.title, document.media, document.parser) == ("Buoy off Skerry", "email", "outlook")
    assert document.mime == "application/vnd.ms-outlook"
    assert document.outline.lines == [
        "From: Ruth Carr <ruth@light.example>",
        'To: "Bell, Amos" <amos@light.example>',
        "Cc: /O=EX/CN=BOARD",
        "Date: Sat, 18 Jun 2022 04:26:40 +0000",
        "",
        "The buoy drifted.",
        "",
        "Attachment: chart.pdf (application/pdf)",
    ]
    assert document.source_span(6, 6) == LineSpan(6, 6)
    assert document.metadata == {
        "author": "Ruth Carr",
        "from": "Ruth Carr <ruth@light.example>",
        "to": '"Bell, Amos" <amos@light.example>',
        "created": "2022-06-18T04:26:40+00:00",
    }


def test_page_is_read_in_the_code_page_of_the_message():
    page = "<h2>Буй</h2><p>Он плывёт к берегу.</p>".encode("cp1251")
    document = read(message(body="", extra={"__substg1.0_10130102": page}))
    assert [block.text for block in document.outline.blocks if block.kind == "heading"] == ["Буй"]
    assert "Он плывёт к берегу." in document.outline.lines


def test_body_that_is_compressed_rtf_alone_is_read():
    from compressed_rtf import compress

    rtf = rb"{\rtf1\ansi{\fonttbl{\f0 Arial;}}\f0 The lamp is \b out\b0 .\par Send oil.}"
    document = read(message(body="", extra={"__substg1.0_10090102": compress(rtf)}))
    assert "The lamp is out." in document.outline.lines
    assert not any("Arial" in line for line in document.outline.lines)
    broken = read(message(body="", extra={"__substg1.0_10090102": compress(rtf)[:-5] + b"false"}))
    assert broken.outline.lines[-1].startswith("Date: ")


def test_attached_texts_and_messages_are_sections():
    inner = outlook_message(texts={**TEXTS, "0037": "Second buoy", "1000": "It is red."})
    attached = {**properties({"3001": "Second buoy"}, {}, header=8), "__substg1.0_3701000D": inner}
    document = read(
        message(
            extra={
                "__attach_version1.0_#00000000": attachment("log.csv", b"day,wind\r\n1,NW\r\n", "text/csv"),
                "__attach_version1.0_#00000001": attached,
            }
        )
    )
    headings = [block.text for block in document.outline.blocks if block.kind == "heading"]
    assert headings == ["log.csv", "Second buoy"]
    assert {"1,NW", "It is red."} <= set(document.outline.lines)


def test_broken_messages_are_refused_as_damaged_or_read_in_part(subtests):
    whole = compound_file(message(body="long " * 4_000))
    for size in range(512, len(whole), 1_024):
        with subtests.test(case=size):
            try:
                parse(whole[:size], "a.msg")
            except ParseRefused as refusal:
                assert refusal.code in ("damaged", "no_parser")
    name = "__attach_version1.0_#00000000"
    directory = whole.index("Root Entry".encode("utf-16-le"))
    entry = directory + 128 * next(
        index
        for index in range(60)
        if whole[directory + 128 * index :].startswith("__recip_version1.0_#00000000".encode("utf-16-le"))
    )
    cyclic = bytearray(whole)
    cyclic[entry + 76 : entry + 80] = bytes(4)  # its child is the root
    with subtests.test(case=name):
        try:
            assert parse(bytes(cyclic), "a.msg").title
        except ParseRefused as refusal:
            assert refusal.code == "damaged"


def test_encrypted_message_is_refused():
    locked = attachment("smime.p7m", b"\x30\x80", "application/pkcs7-mime")
    with pytest.raises(ParseRefused) as refusal:
        read(message(body="", extra={"__attach_version1.0_#00000000": locked}))
    assert refusal.value.code == "encrypted"
