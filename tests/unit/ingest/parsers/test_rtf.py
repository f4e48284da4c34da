"""Rich text: what is shown of it, in the charsets of its fonts."""

import pytest

from ingest.parsers.errors import ParseRefused
from ingest.parsers.office import rtf
from ingest.parsers.registry import parse


def lines_of(text):
    content = text if isinstance(text, bytes) else text.encode("latin-1")
    return [line for line in parse(content, "a.rtf").outline.lines if line]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (r"{\rtf1 a {\deleted struck} b {\v hidden} c\v d\v0  e{\revised f}\par}", ["a b c ef"]),
        (r"{\rtf1 a{\pict\wmetafile8\bin5 }}{\x}b\par}", ["ab"]),
        (r"{\rtf1\uc1\u-10179?\u-8704? \uc2\u8364 ??5\uc0\u228 \par}", ["😀 €5ä"]),
        (r"{\rtf1\ansi{\fonttbl{\f0\fcharset204 A;}{\f1 B;}}\f0\'cf\'f0\f1\'e9\par}", ["Прé"]),
        (r"{\rtf1\ansicpg932{\fonttbl{\f0\fcharset128 A;}}\f0\'83e\'83X\'83g\par}", ["テスト"]),
        (r"{\rtf1\ansicpg99999 caf\'e9\par}", ["café"]),
        (r"{\rtf1 {\pntext 1.\tab}First\par{\listtext\'b7\tab}Next\par}", ["1. First", "- Next"]),
        (r"{\rtf1\trowd\intbl A\line B\cell C\par D\cell\row\pard tail\par}", ["A B | C D", "tail"]),
        (r"{\rtf1 A|pipe|\par}", ["A|pipe|"]),
        (r"{\rtf1 a{\*\unknown b}{\shp{\*\shpinst{\sp{\sn c}}{\shptxt Box\par}}}\par}", ["a", "Box"]),
        (r"{\rtf1 a{\*\atnauthor Jo}{\*\annotation why?}\par}", ["a", "Comment by Jo: why?"]),
        (
            r'{\rtf1 {\field{\*\fldinst{HYPERLINK "https://a.example/b"}}{\fldrslt here}}\par}',
            ["here", "Link: https://a.example/b"],
        ),
        (r"{\rtf1{\header Tern\par}{\footer Page \chpgn\par}a\par}", ["a", "Headers and footers", "Tern"]),
        (r"{\rtf1{\stylesheet{\s3\outlinelevel1 Own;}}\pard\s3 Deep\par cut {\b off", ["Deep", "cut off"]),
    ],
)
def test_text_is_read_as_it_is_shown(text, lines):
    assert lines_of(text) == lines


def test_deleted_and_hidden_text_is_reported():
    parsed = parse(rb"{\rtf1 a {\deleted struck} b {\v hid}\par}", "a.rtf")
    assert {each.kind: each.amount for each in parsed.omissions} == {"deleted_text": 6, "hidden_text": 3}


def test_embedded_file_is_named():
    parsed = parse(rb"{\rtf1 a{\object{\*\objclass Excel.Sheet.12}{\*\objdata 0105}}\par}", "a.rtf")
    assert parsed.outline.lines[-1] == "Embedded file: Excel.Sheet.12"
    assert [(each.kind, each.where) for each in parsed.omissions] == [("embedded_files", ("Excel.Sheet.12",))]


def test_groups_without_end_are_refused():
    with pytest.raises(ParseRefused) as refusal:
        parse(b"{\\rtf1" + b"{" * (rtf.MAX_DEPTH + 1), "a.rtf")
    assert refusal.value.code == "damaged"
