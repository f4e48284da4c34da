"""The type of a file by its content and name; unambiguous content wins."""

from ingest.parsers.content_type import identify
from ingest.parsers.registry import parse
from tests.support.samples import content_of

PAGE = content_of("html/visit-chromium.html")
DRAWING = content_of("svg/tide.svg")
NOTEBOOK = content_of("notebook/tides.ipynb")
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + b"\x00" * 40
MAIL = b"From: ada@example.org\nDate: Thu, 2 May 2024 10:00:00 +0000\nMIME-Version: 1.0\n\nWords.\n"
TEXT_NAMES = ["a.md", "a.txt", "a.json", "a.html", "a.csv", "a.ipynb", "a.rst", "a.py", "a", "a.log"]


def test_type_of_text_is_decided_by_the_file_name(subtests):
    for path, mime, media, parsers in [
        ("a.md", "text/markdown", "text", ("markdown", "text")),
        ("a.MDX", "text/mdx", "text", ("markdown", "text")),
        ("a.txt", "text/plain", "text", ("text",)),
        ("a.rst", "text/x-rst", "text", ("rst", "text")),
        ("a.json", "application/json", "text", ("structured", "text")),
        ("src/a.py", "text/x-python", "code", ("code", "text")),
        ("Dockerfile", "text/x-dockerfile", "code", ("code", "text")),
        ("README", "text/plain", "text", ("text",)),
        (".hidden", "text/plain", "text", ("text",)),
        ("a.vtt", "text/vtt", "transcript", ("transcript", "text")),
        ("a.srt", "application/x-subrip", "transcript", ("transcript", "text")),
        ("a.pdf", "text/plain", "text", ("text",)),
        ("a.png", "text/plain", "text", ("text",)),
    ]:
        with subtests.test(case=path):
            file = identify(b"just a few words\n", path)
            assert (file.mime, file.media, file.parsers) == (mime, media, parsers)
    stray_nul = b"# Title\n\nwords \x00 more words here, and more\n" * 3
    assert identify(stray_nul, "a.md").parsers[0] == "markdown"


def test_type_of_pages_and_pictures_is_decided_by_content(subtests):
    for content, mime, media in [
        (b"%PDF-1.7 text only", "application/pdf", "pdf"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "application/pdf", "pdf"),
        (b"X-Header: mail\r\n\r\n%PDF-1.4\n\x00\x01", "application/pdf", "pdf"),
        (PNG, "image/png", "image"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF\x00", "image/jpeg", "image"),
        (b"RIFF\x24\x00\x00\x00WEBPVP8 ", "image/webp", "image"),
        (b"GIF89a\x01\x00\x01\x00", "image/gif", "image"),
        (b"II*\x00\x08\x00\x00\x00", "image/tiff", "image"),
    ]:
        for path in ("file", "a.pdf", "a.png", *TEXT_NAMES):
            with subtests.test(case=content[:8], path=path):
                file = identify(content, path)
                assert (file.mime, file.media, file.parsers) == (mime, media, (media,))


def test_html_is_recognised_under_names_of_text_but_not_of_code(subtests):
    for path in (name for name in TEXT_NAMES if name != "a.html"):
        with subtests.test(case=path):
            parsed = parse(PAGE, path)
            assert (parsed.parser, parsed.title, parsed.mime) == ("html", "Visiting the lock", "text/html")
    for path in ["a.php", "a.vue", "a.svelte"]:  # code that may begin as a page
        with subtests.test(case=path):
            assert identify(PAGE, path).media == "code"


def test_content_overrules_the_name(subtests):
    for content, path, parser in [
        (DRAWING, "LISEZMOI", "svg"),
        (NOTEBOOK, "LISEZMOI", "notebook"),
        (b'{"gauges": [1, 2]}\n', "LISEZMOI", "structured"),
        (b"[\n  {}\n]\n", "LISEZMOI", "structured"),
        (b'<?xml version="1.0"?>\n<gauges/>\n', "LISEZMOI", "code"),
        (b"[draft] a note in words\n", "LISEZMOI", "text"),
        (b"{ braces in prose }\n", "LISEZMOI", "text"),
        (b"# a title\n\nand words\n", "LISEZMOI", "text"),
        (b"just words, saved as a page\n", "a.html", "text"),
        (b'{"a": 1}', "a.html", "structured"),
        (b"3 < 4, and that is all\n", "a.html", "text"),
        (b"words in place of a drawing\n", "a.svg", "text"),
        (b"# Title\n\nwords\n", "a.docx", "text"),
        (b"Just words.\n", "a.docx", "text"),
        (b"<html><table><tr><td>a<td>b</table>", "a.xlsx", "html"),
        (b"name,number\nwords,1\n", "a.xlsx", "text"),
        (b"plain words\n", "a.pdf", "text"),
        (b"\xef\xbb\xbf{\\rtf1 words}", "a.txt", "rtf"),
        (b"\n{\\rtf1 words}", "a.doc", "rtf"),
        (b"<!doctype html><title>Moved</title><p>Log in.", "a.pdf", "html"),
        (b"plain words\n", "a.png", "text"),
        (b"<?xml version='1.0'?>\n<rss><channel><title>Tides</title></channel></rss>", "a.html", "xml"),
        (b"BEGIN:VCARD\nVERSION:3.0\nFN:Ada\nEND:VCARD\n", "a.ics", "contacts"),
        (MAIL, "a.txt", "email"),
        (MAIL, "a.mbox", "email"),
        (b"From ada\n" + MAIL, "a.mbox", "mbox"),
        (b"Minutes\n\n" + MAIL, "a.txt", "text"),
        (MAIL.replace(b"MIME-Version: 1.0\n", b""), "a.txt", "text"),
        (b"<feed xmlns='http://www.w3.org/2005/Atom'><title>Tides</title></feed>", "a.htm", "xml"),
    ]:
        with subtests.test(case=content[:20], path=path):
            assert parse(content, path).parser == parser


def test_nameless_text_is_sniffed(subtests):
    way = b"Received: from a.example by b.example\r\n" * 300
    mail = way + b"Date: Thu, 2 May 2024 10:00:00 +0000\r\nFrom: Ada <ada@example.org>\r\n\r\nWords.\r\n"
    for content, parser in [
        (b"<!DOCTYPE html><p>x", "html"),
        (b"\n<!-- made by hand -->\n<html lang=en>", "html"),
        (b"#!/usr/bin/env python3\nprint()\n", "code"),
        (b"#!/bin/bash -e\ntrue\n", "code"),
        (b"#!/opt/unknown\n", "text"),
        (b"<p>no page", "text"),
        (mail, "email"),
        (way + b"From: Ada <ada@example.org>\r\nSubject: undated\r\n\r\nWords.\r\n", "email"),
        (b"Subject: a note\n\nFrom: nobody\nDate: never\n", "text"),
        (b"From: here to there\nis a long way.\n", "text"),
        # Exponential time would never end.
        (b"<!---->" * 500 + b"<p>", "text"),
    ]:
        with subtests.test(case=content[:20]):
            assert identify(content, "script").parsers[0] == parser
    assert identify(mail, "message").parsers == ("email", "mail_source")
    assert identify(b"x < y " * 100_000 + b"<p>", "a.html").parsers[0] == "html"


def test_pages_that_office_programs_save_are_read_as_pages(subtests):
    page = "<html><head><title>Rules</title></head><body><p>Ask the Z=C3=A4hler</p></body></html>"
    stated = "Content-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: quoted-printable"
    body = f"--b\n{stated}\n\n{page}\n--b--\n"
    head = 'MIME-Version: 1.0\nContent-Type: multipart/related; boundary="b"\n\n'
    dated = "Date: Mon, 5 Jan 2026 10:00:00 +0000\nSubject: Exported\n"
    for path, text in {
        "a.doc": dated + head + body,
        "a.mht": head + body,
        "a.xls": "From: Jo <jo@example.org>\n" + dated + head + body,
        "a": "From: <Saved by Blink>\n" + dated + head + body,
    }.items():
        with subtests.test(case=path):
            parsed = parse(text.encode(), path)
            assert (parsed.parser, parsed.title) == ("web_archive", "Rules")
            assert [*parsed.outline.lines] == ["Ask the Zähler"]
    mail = parse(("From: Jo <jo@example.org>\n" + dated + head + body).encode(), "a")
    assert (mail.parser, mail.title) == ("email", "Exported")
    table = parse("\ufeff<table><tr><td>RX&#45;1</td><td>M&uuml;ller</td></tr></table>".encode(), "a.xls")
    assert (table.parser, [*table.outline.lines]) == ("html", ["RX-1 | Müller"])
