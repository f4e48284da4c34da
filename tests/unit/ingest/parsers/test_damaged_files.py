"""Rich text, calendars, mails and office files whose structure is broken are read or refused."""

import io
import zipfile
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from ingest.parsers.errors import ParseRefused
from ingest.parsers.registry import parse
from tests.support.archives import zip_of
from tests.support.samples import content_of

TEXTS = st.sampled_from(
    ["tide", "Größe", "", " ", "\t", "\n", "a" * 80, "=C3=A4", "潮位", "\0", "-1", "9" * 11]
)


def one_of(listed):
    """Return a strategy of the lines of a text."""
    return st.sampled_from(dedent(listed).strip("\n").split("\n"))


def read(content, path):
    """Return the document, None for a refused file; every line has a place, and every block has lines."""
    try:
        document = parse(content, path)
    except ParseRefused as refusal:
        assert refusal.code and refusal.detail
        return None
    outline, end = document.outline, 0
    assert outline.origins is None or len(outline.origins) == len(outline.lines)
    for block in outline.blocks:
        assert end < block.span.start <= block.span.end <= len(outline.lines)
        end = block.span.end
        document.source_span(block.span.start, block.span.end)
    return document


WORDS = r"""
\par \pard \b \b0 \v \deleted \plain \row \trowd \intbl \cell \line \tab \u228? \u-10179? \uc0 \uc2 \f0 \f9
\'e4 \'8 \' \bin5 \bin99999 \s1 \outlinelevel0 \pntext \listtext \footnote \fldinst \field \fldrslt \shptxt
\pict \*\x \* \ansicpg932 \fonttbl \fcharset128 \stylesheet \info \title \object \objdata \header \~ \- \\ \{
\} { } ; \upr \annotation \nonshppict \mac \lang1041
"""


@given(
    st.sampled_from(["{\\rtf1 ", "{\\rtf1\\ansi{", "\ufeff{\\rtf"]),
    st.lists(st.one_of(st.sampled_from(WORDS.split()), TEXTS), max_size=60),
)
def test_rich_text_of_any_words_is_read_or_refused(start, words):
    read((start + " ".join(words)).encode(), "a.rtf")


PROPERTIES = one_of(
    r"""
    BEGIN:VEVENT
    END:VEVENT
    BEGIN:VALARM
    END:VALARM
    SUMMARY;LANGUAGE=de:Größe\, high\
    DTSTART;TZID="Europe/Oslo":20240304T100000
    DTSTART:99999999
    DUE;VALUE=DATE:
    DESCRIPTION:a\nb
    ATTENDEE;CN="East, Ida":mailto:ida@light.example
    ORGANIZER;CN=:MAILTO:
    ATTACH;ENCODING=BASE64:QUJD
    X-WR-CALNAME:Quay
     folded
    BEGIN:
    END:
    :
    ;
    BEGIN:VCARD
    END:VCARD
    FN:Ida
    N:East;Ida;;;
    NOTE;ENCODING=QUOTED-PRINTABLE;CHARSET=x:=C3=
    TEL;TYPE=:1
    PHOTO;ENCODING=b:QUJD
    ADR:;;a;b
    """
)


@given(st.sampled_from(["a.ics", "a.vcf"]), st.lists(PROPERTIES, max_size=40))
def test_calendars_and_contacts_of_any_lines_are_read(path, lines):
    start = (
        "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:Watch\r\nEND:VEVENT\r\nBEGIN:VCARD\r\nFN:Ida\r\nEND:VCARD"
    )
    document = read("\r\n".join((start, *lines)).encode(), path)
    assert document is not None and document.parser in ("calendar", "contacts")


HEADERS = st.lists(
    one_of(
        """
        Subject: Größe
        Subject: =?utf-8?b?!?=
        From: Ida <ida@light.example>
        Date: never
        Content-Transfer-Encoding: base64
        Content-Transfer-Encoding: quoted-printable
        Content-Disposition: attachment
        Content-Disposition: attachment; filename*0*=utf-8''%C3; filename*1=a.eml
         folded
        :
        no header
        """
    ),
    max_size=4,
)
TYPES = one_of(
    """
    text/plain
    text/plain; charset=utf-16
    text/plain; charset=hz; format=flowed; delsp=yes
    TEXT/HTML; charset=x
    text/calendar
    text/csv
    application/octet-stream; name=winmail.dat
    application/octet-stream; name=a.eml
    application/pkcs7-mime
    application/json; name=a.json
    image/png; name="a.png"
    """
)
BODIES = one_of(
    """
    VGhlIGtlZXBlcg==
    --
    --x
    --x--
    From x
    >q
    <p>a<b>c
    begin 644 a
    BEGIN:VEVENT
    a=20b=
    """
)
KINDS = one_of(
    """
    multipart/mixed; boundary="x"
    multipart/alternative; boundary=x
    multipart/digest; boundary="x "
    multipart/related; boundary=other
    multipart/signed
    message/rfc822
    message/global
    """
)


def written(kind, headers, *lines):
    return "\n".join((f"Content-Type: {kind}", *headers, "", *lines))


def containers(parts):
    """Return a strategy of parts that contain others, with boundaries that are right, wrong or missing."""
    inner = st.lists(
        st.tuples(st.sampled_from(["--x", "--x\n", "--other"]), parts).map("\n".join), max_size=4
    )
    ends = st.sampled_from(["--x--", "--x --", "--other--", ""])
    contained = st.one_of(parts.map(lambda part: [part]), inner)
    return st.builds(
        lambda kind, headers, parts, end: written(kind, headers, *parts, end), KINDS, HEADERS, contained, ends
    )


LEAVES = st.builds(
    lambda kind, headers, lines: written(kind, headers, *lines),
    TYPES,
    HEADERS,
    st.lists(st.one_of(TEXTS, BODIES), max_size=5),
)


@settings(max_examples=40)
@given(st.recursive(LEAVES, containers, max_leaves=8), st.sampled_from(["utf-8", "latin-1"]))
def test_mail_of_any_parts_is_read(part, charset):
    head = "From: a@b.example\nDate: Mon, 4 Mar 2024 10:00:00 +0000\n"
    document = read((head + part).encode(charset, "replace"), "a.eml")
    assert document is None or document.parser == "email"


CHANGES = st.tuples(
    st.integers(0, 999),
    st.integers(0, 9_999),
    st.sampled_from(["drop", "double", "empty", "rename", "attribute", "nest", "text"]),
    TEXTS,
)


@pytest.mark.parametrize("name", ["handbook.docx", "signals.pptx", "tides.xlsx"])
@settings(max_examples=10)
@given(changes=st.lists(CHANGES, max_size=6))
def test_office_file_with_changed_elements_is_read_or_refused(name, changes):
    with zipfile.ZipFile(io.BytesIO(content_of(f"office/{name}"))) as source:
        parts = {each: source.read(each) for each in source.namelist()}
    names = sorted(each for each in parts if each.endswith((".xml", ".rels")))
    for number, place, change, text in changes:
        part = names[number % len(names)]
        parts[part] = with_change(parts[part], place, change, text.replace("\0", ""))
    read(zip_of(parts), name)


def with_change(part, place, change, text):
    """Return a part of which one element is another."""
    root = etree.fromstring(part)
    elements = list(root.iter(etree.Element))
    element = elements[place % len(elements)]
    parent = element.getparent()
    match change:
        case "drop" if parent is not None:
            parent.remove(element)
        case "double" if parent is not None:
            parent.append(etree.fromstring(etree.tostring(element)))
        case "empty":
            element.clear()
        case "rename":
            element.tag = elements[place * 7 % len(elements)].tag
        case "attribute" if element.attrib:
            names = sorted(element.attrib)
            element.set(names[place % len(names)], text)
        case "nest":
            element.append(etree.fromstring(etree.tostring(element)))
        case _:
            element.text = text
    return etree.tostring(root)
