"""Formats that only their own programs read are refused with what to save the files as."""

import re

import pytest

from ingest.parsers.closed_formats import CLOSED_FORMATS
from ingest.parsers.content_type import identify
from ingest.parsers.errors import ParseRefused
from tests.support.archives import zip_of
from tests.support.compound_files import compound_file
from tests.support.paths import ROOT

BINARY = bytes(range(256)) * 8
IWORK = zip_of({"Index/Document.iwa": b"\0\1", "Metadata/Properties.plist": b"bplist00"})
PACKAGE = {"[Content_Types].xml": "<Types/>"}


def refusal_of(content, path):
    with pytest.raises(ParseRefused) as refusal:
        identify(content, path)
    return refusal.value.code, refusal.value.detail


@pytest.mark.parametrize(
    ("content", "path", "remedy"),
    [
        (IWORK, "plan.pages", "(.docx)"),
        (IWORK, "plan.numbers", "(.xlsx)"),
        (IWORK, "plan.key", "(.pptx)"),
        (IWORK, "plan.zip", ".xlsx"),
        (zip_of({"index.xml.gz": b"x"}), "old.pages", "(.docx)"),
        (zip_of({**PACKAGE, "xl/workbook.bin": b"\0"}), "plan.xlsx", ".xlsx"),
        (zip_of({**PACKAGE, "visio/document.xml": "<x/>"}), "plan", "SVG"),
        (compound_file({"VisioDocument": b"x"}), "plan.bin", "SVG"),
        (compound_file({"Quill": {"QuillSub": b"x"}}), "leaflet", "PDF"),
        (compound_file({"Other": b"x"}), "plan.mpp", ".xlsx"),
        (b"\xe4\x52\x5c\x7b\x8c\xd8\xa7\x4d\xae\xb1\0", "notes", "PDF"),
        (b"\xffWPC\x10\0\0\0", "letter.doc", ".docx"),
        (b"\x78\x9f\x3e\x22\1\0", "ATT001.bin", ".msg"),
        (BINARY, "winmail.dat", ".msg"),
        (b"\x30\x80\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x03\xa0", "smime.p7m", ".eml"),
        (b"\0\1\0\0Standard ACE DB\0", "stock.accdb", ".csv"),
        (BINARY, "plan.mpp", ".xlsx"),
        (b"%!PS-Adobe-3.0\n", "figure.eps", "PDF"),
    ],
)
def test_closed_format_is_named_with_the_remedy(content, path, remedy):
    code, detail = refusal_of(content, path)
    assert code == "closed_format" and remedy in detail


@pytest.mark.parametrize("path", ["server.key", "id_ed25519.pub", "todo.one", "story.pages", "a.dat", "a.ps"])
def test_text_under_the_name_of_a_closed_format_is_read(path):
    assert identify(b"ssh-ed25519 of the harbour\n", path).media == "text"
    if path == "a.dat":
        assert refusal_of(BINARY, path)[0] == "no_parser"


def test_documented_formats_equal_those_that_are_refused():
    text = (ROOT / "docs" / "formats.md").read_text().partition("## Closed formats")[2].partition("\n## ")[0]
    documented = {name for line in text.split("\n") for name in re.findall(r"`\.?([\w.]+)`", line)}
    assert documented == {name for each in CLOSED_FORMATS for name in each.extensions}
