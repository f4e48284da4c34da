"""Mails: headers, bodies in every charset, skipped attachments, hostile structure."""

import base64

import pytest

from ingest.parsers import registry
from ingest.parsers.errors import ParseRefused
from ingest.parsers.mail import parse as email
from ingest.parsers.registry import parse
from ingest.parsers.types import LineSpan, ParsedDocument
from tests.support.samples import content_of


def parse_sample(name: str) -> ParsedDocument:
    return parse(content_of(f"email/{name}"), f"mail/{name}")


def mail(*lines: str) -> ParsedDocument:
    return parse("\r\n".join(lines).encode(), "a.eml")


def encoded_mail(charset: str, text: str) -> ParsedDocument:
    body = base64.b64encode(text.encode(charset)).decode()
    kind = f"Content-Type: text/plain; charset={charset}"
    return mail("From: a@b.example", kind, "Content-Transfer-Encoding: base64", "", body)


def place_of(words: str, document: ParsedDocument) -> LineSpan:
    number = next(n for n, line in enumerate(document.outline.lines, start=1) if words in line)
    return document.source_span(number, number)


def raw_lines(name: str, span: LineSpan) -> str:
    return "\n".join(content_of(f"email/{name}").decode().splitlines()[span.start - 1 : span.end])


def test_headers_and_plain_text_are_placed_on_their_lines_and_attachments_named_or_read():
    document = parse_sample("wreck.eml")
    assert document.title == "Schiffbruch der Forfarshire: Überlebende gesichtet"
    assert (document.media, document.mime, document.parser) == ("email", "message/rfc822", "email")
    assert document.outline.lines[:3] == [
        "From: Grace Darling <grace@longstone.example>",
        "To: William Brooks <brooks@bamburgh.example>",
        "Date: Sat, 07 Sep 2024 05:30:00 +0100",
    ]
    assert document.metadata == {
        "author": "Grace Darling",
        "from": "Grace Darling <grace@longstone.example>",
        "to": "William Brooks <brooks@bamburgh.example>",
        "created": "2024-09-07T05:30:00+01:00",
    }
    text = "\n".join(document.outline.lines)
    assert "père Brière's line is too short" in text
    assert "HTML form" not in text
    written = raw_lines("wreck.eml", place_of("nine people are clinging", document))
    assert written.startswith("nine people are clinging")
    assert "p=C3=A8re Bri=C3=A8re's" in written
    assert written.endswith("before noon.")
    assert raw_lines("wreck.eml", place_of("Yes, since", document)) == "Yes, since a quarter to five."
    (quote,) = [block for block in document.outline.blocks if block.kind == "quote"]
    assert document.outline.lines[quote.span.start - 1] == "> Can you see the wreck from the lantern room?"
    assert "Attachment: tide table.pdf (application/pdf)" in document.outline.lines
    (heading,) = [block for block in document.outline.blocks if block.kind == "heading"]
    assert heading.text == "crew list.txt"
    assert "secret words" in document.outline.lines[-1]
    assert "tide table.pdf" in raw_lines("wreck.eml", place_of("tide table", document))
    assert mail("From: a@b.example", "", "", "Come at once.", "Bring rope.").title == "Come at once."


def test_html_is_read_as_a_page_and_placed_on_the_lines_that_encode_it():
    document = parse_sample("soldiers.eml")
    kinds = [(block.kind, block.text) for block in document.outline.blocks]
    headings = [("heading", "What happened"), ("heading", "Repairs")]
    assert kinds[1:] == [headings[0], ("paragraph", ""), headings[1], ("table", "")]
    span = place_of("broken at the blade", document)
    encoded = raw_lines("soldiers.eml", LineSpan(9, span.end)).replace("\n", "")
    assert b"broken at the blade" in base64.b64decode(encoded[: len(encoded) // 4 * 4])
    assert span.start > 9


def test_forwarded_mail_is_a_section_of_its_own(chunk_file):
    document = parse_sample("report.eml")
    (heading,) = [block for block in document.outline.blocks if block.kind == "heading"]
    assert heading.text == "All nine are ashore"
    assert raw_lines("report.eml", place_of("We rowed twice.", document)) == "We rowed twice."
    assert "Date: Sat, 07 Sep 2024 20:00:00 +0100" in document.outline.lines
    chunks = chunk_file(content_of("email/report.eml"), "mail/report.eml")
    rescue = next(chunk for chunk in chunks if "second time" in chunk.text)
    assert rescue.heading_path == ()
    assert rescue.breadcrumb == "Report of the rescue > All nine are ashore"
    span = LineSpan(rescue.spans[0]["start"], rescue.spans[0]["end"])
    assert "The second time father took two of the crew." in raw_lines("report.eml", span)


def test_charset_of_the_part_is_used_or_guessed(subtests):
    assert "Настройка маяка" in encoded_mail("koi8-r", "Настройка маяка").outline.lines
    for charset in ["us-ascii", "x-unknown", "idna", "rot13", "", "utf-8\0"]:
        with subtests.test(case=charset):
            kind = f'Content-Type: text/plain; charset="{charset}"'
            document = mail("From: a@b.example", kind, "", "père Brière")
            assert document.parser == "email"
            assert "père Brière" in document.outline.lines
    for charset in ["hz", "utf-7", "cp037", "utf-16", "utf-32-be"]:  # a line end is another byte
        with subtests.test(case=charset):
            document = encoded_mail(charset, "First line ~ of it\nand +the second\n")
            assert document.parser == "email"
            assert {"First line ~ of it", "and +the second"} <= set(document.outline.lines)
            assert place_of("and +the", document) == LineSpan(5, 5)
    for charset, body, text in [("hz", "one ~\r\nline", "one line"), ("utf-7", "one+AAo-two", "two")]:
        with subtests.test(case=body):
            kind = f"Content-Type: text/plain; charset={charset}"
            document = mail("From: a@b.example", kind, "", body)
            assert document.parser == "email"
            assert text in document.outline.lines


@pytest.mark.parametrize("words", ["Hello world", "Hello worl", "Hello wor"])
def test_base64_without_its_padding_keeps_its_end(words):
    body = base64.b64encode(words.encode()).decode().rstrip("=")
    document = mail("From: a@b.example", "Content-Transfer-Encoding: base64", "", body[:8], body[8:], "", "")
    assert words in document.outline.lines
    assert place_of(words, document) == LineSpan(4, 5)


def test_encrypted_mail_is_refused():
    kind = "Content-Type: application/pkcs7-mime; smime-type=enveloped-data"
    with pytest.raises(ParseRefused) as refusal:
        mail(
            "From: a@b.example", kind, "Content-Transfer-Encoding: base64", "", "MIAGCSqGSIb3DQEHA6CAMIACAQAx"
        )
    assert refusal.value.code == "encrypted"


def test_file_that_is_not_a_mail_is_read_as_text():
    document = parse(b"just some words\n\nand more\n", "notes.eml")
    assert (document.parser, document.outline.lines[0]) == ("mail_source", "just some words")


def nested_mail(depth: int) -> bytes:
    text = b"the innermost text"
    for number in range(depth):
        head = b"From: a@b.example\nContent-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (number, number)
        text = head + text + b"\n--b%d--\n" % number
    return text


def test_hostile_mails_are_read(subtests):
    for content in [
        b"From: a@b.example\n",
        b"From: a@b.example\nContent-Type: multipart/mixed\n\n--x\ntext",
        b"From: a@b.example\nContent-Type: multipart/mixed; boundary=x\n\n",
        b"From: a@b.example\nContent-Type: multipart/alternative; boundary=x\n\n--x--\n",
        b"From: a@b.example\nContent-Type: text/html\n\n<div><span></span>",
        b"From: a@b.example\nContent-Transfer-Encoding: base64\n\n====\n!!\xff\xfe=\n",
        b"Subject: =?utf-8?b?!!!?= =?nocharset?q?x?= =?utf-8?q?\n" + b"=?" * 5_000 + b"\n\ntext",
        b"From: a@b.example\nDate: Mon, 99 Foo 99999 99:99:99\nTo: <<<>>>,,;;:\n\ntext",
        b"From: a@b.example\n" + b" folded\n" * 20_000 + b"\ntext",
        b"From: a@b.example\nContent-Type: text/plain; charset=utf-16\n\nt\x00e\x00x\x00t\x00",
        b"From: a@b.example\nContent-Type: text/plain; name*0*=x''%FF; name*1=\"\n\ntext",
        nested_mail(200),
    ]:
        with subtests.test(case=content[18:80]):
            document = parse(content, "a.eml")
            assert document.parser == "email"
            for block in document.outline.blocks:
                document.source_span(block.span.start, block.span.end)
    many = b"From: a@b.example\nContent-Type: multipart/mixed; boundary=x\n\n" + b"--x\n\ntext\n" * 5_000
    (warning,) = parse(many, "a.eml").warnings
    assert "500" in warning


def test_more_lines_than_the_limit_are_refused(monkeypatch):
    monkeypatch.setattr(email, "MAX_LINES", 3)
    with pytest.raises(ParseRefused, match="3") as refusal:
        mail("From: a@b.example", "", "a", "b", "c")
    assert refusal.value.code == "too_large"


LETTER = """\
From: a@b.example
Subject: The lens
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="part"

--part
Content-Type: text/plain

The lens is packed in straw.

It goes by the morning train.

--part
Content-Type: image/png; name="lens.png"
Content-Transfer-Encoding: base64

{encoded}
c2hvcnQ=

--part
Content-Type: text/plain

Keep it dry.
--part--
"""
ENCODED = base64.encodebytes(bytes(range(256)) * 3).decode().strip()


@pytest.mark.parametrize("letter", [LETTER, LETTER.replace("Content-Transfer-Encoding: base64\n", "")])
def test_simpler_reader_does_not_index_encoded_parts(letter, chunk_parsed):
    content = letter.replace("{encoded}", ENCODED).replace("\n", "\r\n").encode()
    if b"base64" not in content:
        content = content.replace(b"c2hvcnQ=\r\n", b"")
    document = parse(content, "a.eml", first_rung=1)
    text = "\n".join(chunk.text for chunk in chunk_parsed(document, "a.eml"))
    assert document.parser == "mail_source"
    for words in ("The lens is packed in straw.", "Keep it dry.", "lens.png"):
        assert words in text
    assert "c2hvcnQ=" not in text
    assert not any(line in text for line in ENCODED.splitlines()[:-1])


def test_mail_whose_parser_fails_keeps_its_lines(monkeypatch):
    def fail(content, file):
        raise RuntimeError("broken")

    monkeypatch.setattr(registry, "PARSERS", {**registry.PARSERS, "email": fail})
    document = parse_sample("soldiers.eml")
    (warning,) = document.warnings
    assert "RuntimeError" in warning
    assert document.parser == "mail_source"
    assert document.source_span(4, 4) == LineSpan(4, 4)
    assert [(block.span.start, block.span.end) for block in document.outline.blocks] == [(1, 7)]
