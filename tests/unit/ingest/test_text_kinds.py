"""Names that are wrong: what plainly is one kind of text is read as that, whatever its name."""

import pytest

from ingest.parsers.content_type import identify
from ingest.parsers.registry import parse
from tests.support.paths import FILES

PAGE = (FILES / "html" / "visit-chromium.html").read_bytes()
DRAWING = (FILES / "svg" / "tide.svg").read_bytes()
NOTEBOOK = (FILES / "notebook" / "tides.ipynb").read_bytes()


@pytest.mark.parametrize(
    "path", ["a.md", "a.txt", "a.json", "a.csv", "a.ipynb", "a.rst", "a.py", "a", "a.log"]
)
def test_a_page_is_read_as_one_under_any_name(path):
    parsed = parse(PAGE, path)
    assert (parsed.parser, parsed.title, parsed.mime) == ("html", "Visiting the lock", "text/html")


@pytest.mark.parametrize("path", ["a.php", "a.vue", "a.xml", "a.svelte"])
def test_code_that_may_begin_as_a_page_stays_code(path):
    assert identify(PAGE, path).media == "code"


@pytest.mark.parametrize(
    ("content", "parser"),
    [
        (DRAWING, "svg"),
        (NOTEBOOK, "notebook"),
        (b'{"gauges": [1, 2]}\n', "structured"),
        (b"[\n  {}\n]\n", "structured"),
        (b'<?xml version="1.0"?>\n<gauges/>\n', "code"),
        (b"[draft] a note in words\n", "text"),
        (b"{ braces in prose }\n", "text"),
        (b"# a title\n\nand words\n", "text"),
    ],
)
def test_a_nameless_file_is_what_it_begins_as(content, parser):
    assert parse(content, "LISEZMOI").parser == parser


@pytest.mark.parametrize(
    ("content", "path", "parser"),
    [
        (b"just words, saved as a page\n", "a.html", "text"),
        (b'{"a": 1}', "a.html", "structured"),
        (b"3 < 4, and that is all\n", "a.html", "text"),
        (b"words in place of a drawing\n", "a.svg", "text"),
        (b"# Title\n\nwords\n", "a.docx", "text"),
        (b"name,number\nwords,1\n", "a.xlsx", "text"),
        (b"plain words\n", "a.pdf", "text"),
        (b"plain words\n", "a.png", "text"),
    ],
)
def test_a_file_without_what_its_name_promises_is_read_as_what_it_is(content, path, parser):
    assert parse(content, path).parser == parser


@pytest.mark.parametrize("path", ["a.md", "a.txt", "a.json", "a.html", "a.csv", "a.ipynb", "a.py", "a"])
@pytest.mark.parametrize("name", ["pdf", "png"])
def test_binary_files_are_known_under_names_of_text(path, name):
    content = {
        "pdf": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n",
        "png": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(40),
    }
    assert identify(content[name], path).media == {"pdf": "pdf", "png": "image"}[name]


def test_a_notebook_that_is_broken_is_read_as_data():
    parsed = parse(NOTEBOOK[:1500], "a.ipynb")
    assert parsed.parser == "structured"
    assert "the notebook parser failed" in parsed.warnings[0]


def test_a_long_page_is_not_searched_for_tags_in_vain():
    assert identify(b"x < y " * 100_000 + b"<p>", "a.html").parsers[0] == "html"


def test_a_mail_is_known_by_its_header_however_long():
    way = b"Received: from a.example by b.example\r\n" * 300
    mail = way + b"Date: Thu, 2 May 2024 10:00:00 +0000\r\nFrom: Ada <ada@example.org>\r\n\r\nWords.\r\n"
    assert identify(mail, "message").parsers == ("email", "mail_source")


@pytest.mark.parametrize(
    "text", ["Subject: a note\n\nFrom: nobody\nDate: never\n", "From: here to there\nis a long way.\n"]
)
def test_text_that_begins_like_a_mail_is_text(text):
    assert identify(text.encode(), "note").parsers == ("text",)
