"""Catalogues of gettext: strings with contexts and plural forms, unescaped, without flags."""

from ingest.parsers.omissions import Omission
from ingest.parsers.registry import parse
from ingest.parsers.types import LineSpan
from tests.support.samples import content_of


def test_strings_and_translations_are_lines_with_their_places():
    document = parse(content_of("gettext/harbour.po"), "de/harbour.po")
    placed = {line: document.source_span(n, n) for n, line in enumerate(document.outline.lines, start=1)}
    del placed[""]
    assert placed == {
        "Shown on the board at the gate.": LineSpan(12, 12),
        "Context: gate": LineSpan(15, 15),
        "Open": LineSpan(16, 16),
        "Geöffnet": LineSpan(17, 17),
        'Ring the bell "twice" before you cast off the stern line.': LineSpan(20, 22),
        'Läuten Sie die Glocke "zweimal", bevor Sie die Heckleine losmachen.': LineSpan(23, 25),
        "%d berth": LineSpan(30, 30),
        "%d berths": LineSpan(31, 31),
        "%d Liegeplatz": LineSpan(32, 32),
        "%d Liegeplätze": LineSpan(33, 33),
    }
    assert (document.title, document.metadata) == (
        "harbour.po",
        {"author": "Ida East", "modified": "2026-02-11"},
    )
    assert document.omissions == (
        Omission(kind="comments", amount=2),
        Omission(kind="deleted_text", amount=26),
    )


def test_catalogue_without_header_or_translations_is_read():
    document = parse(b'# Of the quay.\n#, c-format\nmsgid "Moor"\nmsgstr ""\n\nmsgid "Sail"\n', "a.pot")
    assert [*document.outline.lines] == ["Of the quay.", "Moor", "", "Sail"]
    header = b'msgid ""\nmsgstr "Content-Type: text/plain; charset=ISO-8859-1\\n"\n\n'
    assert "été" in parse(header + b'msgid "a"\nmsgstr "\xe9t\xe9"\n', "a.po").outline.lines


def test_file_of_another_format_is_read_as_text():
    assert parse(b'msgid "a"\nthe river Po\n', "a.po").parser == "text"
