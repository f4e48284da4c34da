"""What a person is told of files that nothing here reads."""

import re
import tarfile
from pathlib import Path

import pytest

import ingest
from ingest.parsers.errors import ParseRefused
from ingest.parsers.registry import parse
from ingest.reasons import explanations
from tests.unit.ingest.packing import tarred, zipped

OPEN_DOCUMENT = zipped({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": "<x/>"}, 0)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (zipped({"a.md": "# A\n"}), "it is an archive: unpack it, or upload it by itself"),
        (tarred({"a.md": "# A\n"}), "it is an archive: unpack it, or upload it by itself"),
        (tarred({"a.md": "# A\n"}, "w:gz"), "it is an archive: unpack it, or upload it by itself"),
        (b"\x7fELF\x02\x01\x01" + bytes(60), "it is a program"),
        (bytes(1_000), "it holds bytes that are no text, of no known kind (application/octet-stream)"),
        (b"fLaC\x00\x00\x00\x22" + bytes(40), "no parser for audio/"),
    ],
    ids=["zip", "tar", "gzipped tar", "program", "bytes", "sound"],
)
@pytest.mark.parametrize("name", ["a.html", "a.py", "a.bin"])
def test_a_refusal_says_what_the_file_is(content, said, name):
    with pytest.raises(ParseRefused) as refusal:
        parse(content, name)
    assert (refusal.value.code, refusal.value.detail[: len(said)]) == ("no_parser", said)


def test_a_format_that_is_a_zip_inside_is_called_by_its_own_name():
    with pytest.raises(ParseRefused) as refusal:
        parse(OPEN_DOCUMENT, "a.odt")
    assert "archive" not in refusal.value.detail


def entities(*declared):
    return f"<!DOCTYPE svg [{''.join(declared)}]><svg><text>Tides</text></svg>".encode()


def test_a_drawing_with_entities_made_of_entities_is_refused():
    for nested in ('<!ENTITY b "&a;&a;">', "<!ENTITY b 'x &a;'>", '<!ENTITY % b "%a;&c;">'):
        with pytest.raises(ParseRefused) as refusal:
            parse(entities('<!ENTITY a "aaaa">', nested), "a.svg")
        assert refusal.value.code == "xml_entities"


def test_a_drawing_with_the_entities_that_programs_declare_is_read():
    plain = ('<!ENTITY ns_svg "http://www.w3.org/2000/svg">', '<!ENTITY amp2 "&#38;">')
    assert parse(entities(*plain), "a.svg").outline.lines == ["Tides"]


def test_every_code_of_a_refusal_has_a_sentence():
    sources = [path.read_text() for path in Path(ingest.__file__).parent.rglob("*.py")]
    codes = {code for text in sources for code in re.findall(r'ParseRefused\(\s*"(\w+)"', text)}
    assert {"no_parser", "encrypted", "xml_entities"} <= codes == explanations(codes).keys()


def test_a_reason_that_nobody_knows_is_not_explained():
    assert explanations(["empty", "unheard_of"]) == {"empty": "It has 0 bytes."}


def test_a_tar_is_told_by_its_mark_and_not_by_its_name():
    assert tarred({"a.md": "x"})[257:262] == tarfile.POSIX_MAGIC[:5]
