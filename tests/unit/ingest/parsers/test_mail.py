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
    assert rescue.breadcrumb == "Report of the rescue · All nine are ashore"
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


WORDS = "The père keeper at Größe dock.\nThe second line of the letter, with words enough."
BASE64 = base64.encodebytes(WORDS.encode()).decode()
QUOTED = "The p=C3=A8re keeper at Gr=C3=B6=C3=9Fe dock.\nThe second line of the=\n letter, with words enough."


@pytest.mark.parametrize(
    ("stated", "body"),
    [
        ("base64", WORDS),
        ("base64", QUOTED),
        ("7bit", BASE64),
        ("quoted-printable", BASE64),
        ("", BASE64),
        ("8bit", QUOTED),
        ("quoted-printable", WORDS),
        ("BASE64 (of the text)", BASE64),
        ('"Quoted-Printable"; x=y', QUOTED),
        ("x-unknown", WORDS),
    ],
)
def test_part_is_decoded_by_its_lines_where_its_encoding_is_another(stated, body):
    document = letter(
        "Content-Type: text/plain; charset=utf-8",
        f"Content-Transfer-Encoding: {stated}",
        "",
        *body.split("\n"),
    )
    assert [*document.outline.lines[2:]] == WORDS.split("\n")


def test_text_that_only_looks_encoded_stays(subtests):
    footer = ["____________", "Keepers mailing list"]
    encoding = "Content-Transfer-Encoding: base64"
    lines = letter("Content-Type: text/plain; charset=utf-8", encoding, "", *BASE64.split(), "", *footer)
    assert [*lines.outline.lines[2:]] == [*WORDS.split("\n"), *footer]
    for stated, text in [
        ("quoted-printable", "x = 5, see https://a.example/?id=42&q=12"),
        ("7bit", "id=42&q=12"),
        ("7bit", "KEY=\nOTHER="),
        ("7bit", "Harbour\nNorthQuay"),
    ]:
        with subtests.test(case=text):
            document = letter(f"Content-Transfer-Encoding: {stated}", "", *text.split("\n"))
            assert [*document.outline.lines[2:]] == text.split("\n")


@pytest.mark.parametrize(
    ("stated", "charset", "text"),
    [
        ("iso-8859-1", "utf-8", "père Brière"),
        ("us-ascii", "cp1252", "père Brière"),
        ("gb2312", "utf-8", "港口规则"),
        ("utf-8", "gbk", "港口规则说明，灯塔的记录在这里。"),
        ("iso-8859-1", "cp1251", "Настройка маяка на северном причале"),
        ("koi8-r", "cp1251", "Настройка маяка на северном причале"),
        ("utf-16", "ascii", "The keeper is here."),
        ("unknown-8bit", "cp1252", "père Brière"),
        ("koi8-r", "koi8-r", "НАСТРОЙКА МАЯКА"),
        ("windows-1252", "cp1252", "ÜBER GRÖSSE"),
    ],
)
def test_part_is_in_the_charset_that_it_reads_in(stated, charset, text):
    head = f"From: a@b.example\r\nContent-Type: text/plain; charset={stated}\r\n\r\n".encode()
    assert text in parse(head + text.encode(charset), "a.eml").outline.lines


INNER = "From: Max <max@light.example>\nSubject: Oil\n\nThe oil is low."
ENCODED_INNER = f"\nContent-Transfer-Encoding: base64\n\n{base64.b64encode(INNER.encode()).decode()}"


@pytest.mark.parametrize(
    "part",
    [
        f"\n{INNER}",
        INNER,
        f"Content-Type: message/rfc822\n\n{INNER}",
        f"Content-Type: message/global\n\n{INNER}",
        f"Content-Type: message/rfc822{ENCODED_INNER}",
        f"Content-Type: application/octet-stream; name=oil.eml{ENCODED_INNER}",
    ],
)
def test_mails_of_a_digest_are_sections(part):
    document = letter(*multipart("digest", part, part)[:-1])
    assert [block.text for block in document.outline.blocks if block.kind == "heading"] == ["Oil", "Oil"]
    assert [line for line in document.outline.lines if line][1:] == [
        "Oil", "From: Max <max@light.example>", "The oil is low."
    ] * 2  # fmt: skip


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
    (omission,) = parse(many, "a.eml").omissions
    assert omission.kind == "beyond_limit"


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


def multipart(kind: str, *parts: str, boundary: str = "sep") -> list[str]:
    lines = [f'Content-Type: multipart/{kind}; boundary="{boundary}"', ""]
    for part in parts:
        lines += [f"--{boundary}", *part.split("\n")]
    return [*lines, f"--{boundary}--"]


def letter(*lines: str) -> ParsedDocument:
    return mail("From: Ida East <ida@light.example>", "Subject: Fog horn", *lines)


PAGE = (
    "Content-Type: text/html; charset=utf-8\n\n<html><head><style>p {color: red}</style></head>"
    "<body><h1>Repair</h1><p>The horn needs a new reed and two brass rings.</p></body></html>"
)


def test_better_alternative_is_read(subtests):
    reads_page = {
        "a placeholder": "Your program cannot show this message. Open it in a browser.",
        "a German placeholder": "Diese Nachricht hat kein Textformat.",
        "the beginning": "Repair",
        "nothing": " ",
    }
    for name, plain in reads_page.items():
        with subtests.test(case=name):
            text = f"Content-Type: text/plain; charset=utf-8\n\n{plain}"
            lines = letter(*multipart("alternative", text, PAGE)).outline.lines
            assert "The horn needs a new reed and two brass rings." in lines
            assert plain not in lines or plain == "Repair"
    same = "Content-Type: text/plain\n\nREPAIR\n\nThe horn needs a new reed and two brass rings."
    for name, alternatives in {
        "both": (same, PAGE),
        "page first": (PAGE, same),
        "text alone": (same,),
    }.items():
        with subtests.test(case=name):
            assert "REPAIR" in letter(*multipart("alternative", *alternatives)).outline.lines
    nested = "\n".join(
        multipart("related", PAGE, "Content-Type: image/png; name=horn.png\n\nx", boundary="in")
    )
    with subtests.test(case="page in related parts"):
        short = "Content-Type: text/plain\n\nSee the page."
        lines = letter(*multipart("alternative", short, nested)).outline.lines
        assert "The horn needs a new reed and two brass rings." in lines
        assert "Attachment: horn.png (image/png)" in lines
    with subtests.test(case="attachment beside the page of an alternative"):
        lines = letter(*multipart("alternative", same, nested)).outline.lines
        assert ("REPAIR" in lines, "Attachment: horn.png (image/png)" in lines) == (True, True)


def test_flowed_lines_are_joined(subtests):
    kind = "Content-Type: text/plain; charset=utf-8; format=flowed"
    document = letter(
        kind, "", "The horn is ", "heard at ", "nine miles.", "> Is it ", "> loud?", ">> Very.", "-- ", "Ida "
    )
    assert document.outline.lines[-5:] == [
        "The horn is heard at nine miles.", "> Is it loud?", ">> Very.", "--", "Ida",
    ]  # fmt: skip
    assert place_of("nine miles", document) == LineSpan(5, 7)
    document = letter(f"{kind}; DelSp=yes", "", "The fog ", "horn and ligh ", "t-house.")
    assert document.outline.lines[-1] == "The foghorn and light-house."
    document = letter(kind, "Content-Transfer-Encoding: quoted-printable", "", "The horn=20", "is loud.")
    assert document.outline.lines[-1] == "The horn is loud."


def test_charset_label_means_what_browsers_take_it_for(subtests):
    for label, codec, text in [
        ("gb2312", "gbk", "镕基路灯塔"),
        ("iso-8859-8-i", "iso8859_8", "שלום לכולם"),
        ("cp-850", "cp850", "Brücke für Größen"),
        ("x-sjis", "cp932", "灯台の記録"),
        ("ks_c_5601-1987", "cp949", "등대의 기록"),
        ("windows-31j", "cp932", "①灯台"),
    ]:
        with subtests.test(case=label):
            body = base64.b64encode(text.encode(codec)).decode()
            kind = f"Content-Type: text/plain; charset={label}"
            subject = f"Subject: =?{label}?b?{base64.b64encode(text.encode(codec)).decode()}?="
            document = mail("From: a@b.example", subject, kind, "Content-Transfer-Encoding: base64", "", body)
            assert (document.title, document.outline.lines[-1]) == (text, text)


def test_page_states_its_charset_where_the_mail_does_not():
    page = '<meta http-equiv="Content-Type" content="text/html; charset=koi8-r"><p>Маяк работает.</p>'
    head = b"From: a@b.example\r\nContent-Type: text/html\r\n\r\n"
    assert "Маяк работает." in parse(head + page.encode("koi8-r"), "a.eml").outline.lines
    stated = head.replace(b"html", b"html; charset=utf-8")
    assert "Маяк работает." in parse(stated + page.encode(), "a.eml").outline.lines


def test_headers_are_decoded(subtests):
    for raw, decoded in [
        ("Re: =?utf-8?q?Gr=C3=B6=C3=9Fe?= of =?utf-8?q?the?= =?utf-8?q?_horn?=", "Re: Größe of the horn"),
        ("Größe ohne Kodierung", "Größe ohne Kodierung"),
        ("=?iso-8859-1?q?Gr=C3=B6=C3=9Fe?=", "Größe"),
    ]:
        with subtests.test(case=raw):
            assert mail("From: a@b.example", f"Subject: {raw}", "", "text").title == decoded
    content = "From: Jörg Größe <j@b.example>\r\nSubject: Überfahrt\r\n\r\ntext".encode("latin-1")
    document = parse(content, "a.eml")
    assert (document.title, document.metadata["author"]) == ("Überfahrt", "Jörg Größe")
    for sender, author in [
        ('"East, Ida" <ida@b.example>', "East, Ida"),
        ("=?utf-8?q?East=2C_=C3=8Fda?= <ida@b.example>", "East, Ïda"),
        ("ida@b.example", "ida@b.example"),
    ]:
        with subtests.test(case=sender):
            assert mail(f"From: {sender}", "", "text").metadata["author"] == author
    dates = {
        "Mon, 4 Mar 2024 10:00:00 -0000": "2024-03-04T10:00:00+00:00",
        "4 Mar 24 10:00 EST": "2024-03-04T10:00:00-05:00",
    }
    for date, created in dates.items():
        with subtests.test(case=date):
            assert mail("From: a@b.example", f"Date: {date}", "", "text").metadata["created"] == created


def test_calendar_is_read_once():
    event = "\n".join(
        [
            "BEGIN:VCALENDAR", "BEGIN:VTIMEZONE", "DTSTART:19700101T000000", "END:VTIMEZONE", "BEGIN:VEVENT",
            "DTSTART;TZID=Europe/Oslo:20240304T100000", "DTEND;TZID=Europe/Oslo:20240304T113000",
            'ORGANIZER;CN="East, Ida":mailto:ida@light.example', "SUMMARY:Lens inspect", " ion\\, upper room",
            "LOCATION:Lantern room", "ATTENDEE;CN=Max Hahn;RSVP=TRUE:mailto:max@light.example",
            "ATTENDEE:MAILTO:lena@light.example", "DESCRIPTION:Bring soft cloths.\\nNo spirits.",
            "BEGIN:VALARM", "DESCRIPTION:Reminder", "END:VALARM", "END:VEVENT", "END:VCALENDAR",
        ]
    )  # fmt: skip
    calendar = f"Content-Type: text/calendar; charset=utf-8; method=REQUEST\n\n{event}"
    attached = f"Content-Type: text/calendar; name=invite.ics\nContent-Disposition: attachment\n\n{event}"
    plain = "Content-Type: text/plain\n\nYou are invited."
    alternative = "\n".join(multipart("alternative", plain, PAGE, calendar, boundary="in"))
    lines = letter(
        *multipart("mixed", alternative.replace("a new reed", "an invited"), attached)
    ).outline.lines
    lines = list(lines)
    start = lines.index("Summary: Lens inspection, upper room")
    assert lines[start:] == [
        "Summary: Lens inspection, upper room",
        "When: 2024-03-04 10:00 Europe/Oslo to 2024-03-04 11:30 Europe/Oslo",
        "Organizer: East, Ida <ida@light.example>",
        "Where: Lantern room",
        "Attendees: Max Hahn <max@light.example>, lena@light.example",
        "",
        "Bring soft cloths.",
        "No spirits.",
    ]


def test_attached_texts_are_sections_and_other_attachments_are_named():
    attached = "\nContent-Disposition: attachment\n\n"
    csv = f"Content-Type: text/csv; name*=utf-8''K%C3%BCste%20Nord.csv{attached}day,wind\n1,NW\n\n"
    notes = (
        'Content-Type: application/octet-stream\nContent-Disposition: attachment; filename*0="long ";\n'
        ' filename*1="notes.md"\nContent-Transfer-Encoding: base64\n\n'
        + base64.b64encode(b"# Rope\n\nNew.").decode()
    )
    data = 'Content-Type: application/json; name="tide.json"\n\n{"high": 4}'
    page = f'Content-Type: text/html; name="plan.html"{attached}<h2>Plan</h2><p>Row.</p>'
    document = letter(
        *multipart(
            "mixed",
            "Content-Type: text/plain\n\nSee below.",
            csv,
            notes,
            data,
            page,
            "Content-Type: audio/ogg\n\nx",
        )
    )
    blocks = document.outline.blocks
    assert [block.text for block in blocks if block.kind == "heading"] == [
        "Küste Nord.csv", "long notes.md", "tide.json", "plan.html", "Plan",
    ]  # fmt: skip
    assert {"table", "code"} <= {block.kind for block in blocks}
    assert {"1,NW", "New.", '{"high": 4}', "Row."} <= set(document.outline.lines)
    assert "Attachment: without a name (audio/ogg)" in document.outline.lines
    assert place_of("1,NW", document) == LineSpan(14, 14)


def test_parts_that_are_not_opened_are_named_with_the_reason(subtests):
    text = "Content-Type: text/plain\n\nSigned, Ida."
    for part, name, remedy in [
        ("Content-Type: application/ms-tnef; name=winmail.dat\n\neJ8+", "winmail.dat", ".msg"),
        ("Content-Type: application/octet-stream; name=WINMAIL.DAT\n\neJ8+", "WINMAIL.DAT", ".msg"),
        (
            "Content-Type: application/x; name=ATT001.dat\nContent-Transfer-Encoding: base64\n\neJ8+IgA=",
            "ATT001.dat",
            ".msg",
        ),
        ("Content-Type: application/pkcs7-mime; name=smime.p7m\n\nMIAG", "smime.p7m", ".eml"),
        ("Content-Type: application/octet-stream; name=smime.p7m\n\nMIAG", "smime.p7m", ".eml"),
        (
            "\n".join(
                multipart("encrypted", "Content-Type: application/pgp-encrypted\n\nVersion: 1", boundary="e")
            ),
            "multipart/encrypted",
            "decrypt",
        ),
    ]:
        with subtests.test(case=name):
            document = letter(*multipart("mixed", text, part))
            (line,) = [line for line in document.outline.lines if line.startswith("Attachment: ")]
            assert name in line and remedy in line
            assert [(each.kind, each.amount) for each in document.omissions] == [("closed_parts", 1)]
    lines = letter(
        "", "-----BEGIN PGP SIGNED MESSAGE-----", "Hash: SHA256", "", "The horn is ours.",
        "-----BEGIN PGP SIGNATURE-----", "iQEz", "-----END PGP SIGNATURE-----", "Below:",
        "-----BEGIN PGP MESSAGE-----", "hQEM", "-----END PGP MESSAGE-----",
        "begin 644 horn.txt", "M0123456", "`", "end", "Bye.",
    ).outline.lines  # fmt: skip
    assert [line for line in lines if line][1:] == [
        "The horn is ours.", "Below:", "Bye.",
        "Encrypted text (PGP): not read", "Attachment: horn.txt (uuencoded): not read",
    ]  # fmt: skip


def test_encoded_attached_mail_and_missing_boundaries_are_read(subtests):
    inner = base64.b64encode(b"Subject: Inner words\r\nFrom: x@y.example\r\n\r\nRow at dawn.").decode()
    encoded = f"Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n{inner}"
    document = letter(*multipart("mixed", "Content-Type: text/plain\n\nSee.", encoded))
    assert [block.text for block in document.outline.blocks if block.kind == "heading"] == ["Inner words"]
    assert "Row at dawn." in document.outline.lines
    parts = [
        "--=_odd",
        "Content-Type: text/plain",
        "",
        "Row at noon.",
        "--=_odd",
        "Content-Type: image/png",
        "",
        "x",
    ]
    for kind in ("multipart/mixed", 'multipart/mixed; boundary="other"'):
        with subtests.test(case=kind):
            lines = letter(f"Content-Type: {kind}", "", *parts).outline.lines
            assert "Row at noon." in lines
            assert "Attachment: without a name (image/png)" in lines
    assert "Row home." in letter("Content-Type: multipart/mixed", "", "Row home.").outline.lines
    assert "Row in." in letter("Content-Type: text/plain", "", "<html><p>Row in.</p></html>").outline.lines


MAIL = (
    b"From: Inga <inga@quay.example>\nSubject: =?utf-8?q?Pr=C3=BCfung?=\nMessage-ID: <a@b>\n"
    b"Date: Wed, 2 Jul 2008 11:10:38 +0200\n\nThe gantry.\n"
)


@pytest.mark.parametrize(
    "before",
    [
        b"Microsoft Mail Internet Headers Version 2.0\n",
        b" Aug 22 15:03:38 2008\n",
        b"+OK message follows\n",
        b"\n\n",
    ],
)
def test_mail_is_read_below_the_first_lines_of_a_program(before):
    for path in ("a.eml", "unnamed"):
        parsed = parse(before + MAIL, path)
        assert (parsed.title, parsed.outline.lines[-1]) == ("Prüfung", "The gantry.")


def test_mail_of_apple_mail_ends_before_its_property_list():
    framed = b"%d\n%s<?xml version='1.0'?><plist/>\n" % (len(MAIL), MAIL)
    assert parse(framed, "101.emlx").outline.lines[-1] == "The gantry."


def test_notes_that_quote_a_mail_keep_their_first_lines():
    assert parse(b"Hello,\nsee below\nFrom: a@b.example\nDate: today\n\nText\n", "unnamed").media == "text"


def test_uuencoded_files_with_blanks_are_left_out():
    body = b"begin 644 plan.bin\nM@DDJ YYDUXM AT-GY MMP-[]$78#CJ*WRSFB;9N:A[TABD.MNS7S_ !22^RG\n`\nend\n"
    lines = parse(MAIL + b"\n" + body, "a.eml").outline.lines
    assert not any("YYDUXM" in line for line in lines)
    assert any("plan.bin" in line for line in lines)
