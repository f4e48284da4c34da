"""Escapes in data files: JSON, YAML, TOML, properties, XML."""

import json

import pytest

from ingest.parsers.registry import parse


def placed(content: str | bytes, path: str) -> list[tuple[str, int, int]]:
    """Return the non-blank lines of a file as read, each with its lines in the file."""
    parsed = parse(content if isinstance(content, bytes) else content.encode(), path)
    assert parsed.warnings == ()
    spans = [parsed.source_span(n, n) for n in range(1, len(parsed.outline.lines) + 1)]
    read = zip(parsed.outline.lines, spans, strict=True)
    return [(line, span.start, span.end) for line, span in read if line.strip()]


def test_json_string_escapes_are_decoded():
    notice = {"notice": 'The \u201cebb\u201d gate\nopens at\tsix: ⚓ "now" C:\\lock', "n": [1, "ž"]}
    assert placed(json.dumps(notice, indent=1), "a.json") == [
        ("{", 1, 1),
        (' "notice": "The “ebb” gate', 2, 2),
        ('opens at\tsix: ⚓ "now" C:\\lock",', 2, 2),
        (' "n": [', 3, 3),
        ("  1,", 4, 4),
        ('  "ž"', 5, 5),
        (" ]", 6, 6),
        ("}", 7, 7),
    ]
    lines = r'{"a": "\ud83d\udea2 \ud83d"}' + "\n" + r'{"b": "\u0000\/x\r\n\r\ny"}'
    assert placed(lines, "a.jsonl") == [('{"a": "🚢 �"}', 1, 1), ('{"b": " /x', 2, 2), ('y"}', 2, 2)]


def test_broken_json_is_read_as_far_as_its_strings_go():
    content = r'{"a": "\u00e9", // "C:\new"' + "\n" + r'"b": "\q", "cut \u00e9'
    assert placed(content, "a.jsonc")[0][0].startswith('{"a": "é"')
    assert placed(content, "a.jsonc")[1][0] == r'"b": "\q", "cut \u00e9'


def test_only_double_quotes_of_yaml_have_escapes():
    content = (
        r"""plain: C:\new "\u00e9"
single: 'C:\new \u00e9'
double: "C:\\new \u00e9 \x41 \U0001F6A2"  # "\u00e9"
{ "flow\u003a": "a\tb", "two": "x\ny" }
"""
        + 'folded: "one \\\n  \\u00fc two"\nblock: |\n  printf "a\\u00e9b"\n'
    )
    content = content.replace('{ "flow', 'flow: { "flow')
    lines = [line for line, *_ in placed(content, "a.yaml")]
    assert lines == [
        r'plain: C:\new "\u00e9"',
        r"single: 'C:\new \u00e9'",
        'double: "C:\\new é A 🚢"  # "\\u00e9"',
        'flow: { "flow:": "a\tb", "two": "x',
        'y" }',
        'folded: "one \\',
        '  ü two"',
        "block: |",
        '  printf "a\\u00e9b"',
    ]
    assert placed('a: "\\u00e9"\nb: [\n: "\\u00e9"', "a.yaml")[0][0] == 'a: "é"'  # invalid further down


def test_basic_strings_of_toml_have_escapes():
    content = 'a = "x \\u00e9" # "\\u00e9"\nb = \'C:\\new\'\nc = """\nsecond \\"\\u00fc\\"\n"""\n'
    lines = [line for line, *_ in placed(content, "a.toml")]
    assert lines == ['a = "x é" # "\\u00e9"', "b = 'C:\\new'", 'c = """', 'second "ü"', '"""']


PROPERTIES = r"""# gauge of the north quay
! C:\new
lock.title = Gr\u00f6\u00dfe der \ud83d\udea2
lock\ gate\:upper:first, \
    second,\
    third
path   C:\\tides\\new
empty
lines=one\ntwo
"""


def test_properties_are_entries_of_key_and_value():
    assert placed(PROPERTIES, "a.properties") == [
        ("# gauge of the north quay", 1, 1),
        (r"! C:\new", 2, 2),
        ("lock.title = Größe der 🚢", 3, 3),
        ("lock gate:upper = first, second,third", 4, 6),
        (r"path = C:\tides\new", 7, 7),
        ("empty", 8, 8),
        ("lines = one", 9, 9),
        ("two", 9, 9),
    ]


@pytest.mark.parametrize("charset", ["latin-1", "utf-8"])
def test_properties_are_latin_1_or_utf_8(charset):
    assert placed("a=Wände und Öl\n".encode(charset), "a.properties") == [("a = Wände und Öl", 1, 1)]


def test_references_of_xml_are_read_outside_of_cdata_and_comments():
    content = """<?xml version="1.0"?>
<tides note="S&#246;nke &amp; S&#xF6;hne">
<!-- &lt;kept&gt; --><![CDATA[ &lt;kept
&gt; ]]>&lt;b&gt; &auml; &#10;&#x1F6A2;</tides>
"""
    assert [line for line, *_ in placed(content, "a.xml")] == [
        '<?xml version="1.0"?>',
        '<tides note="Sönke & Söhne">',
        "<!-- &lt;kept&gt; --><![CDATA[ &lt;kept",
        "&gt; ]]><b> &auml;  🚢</tides>",
    ]


def test_chunks_of_decoded_data_cite_the_lines_of_the_file(chunk_file):
    records = [{"id": n, "text": f"Übung {n}\n" + "Flöße und Äste " * 12} for n in range(40)]
    content = json.dumps(records, indent=1)
    original = content.splitlines()
    chunks = chunk_file(content, "a.json")
    assert len(chunks) > 5
    for chunk in chunks:
        start, end = chunk.spans[0]["start"], chunk.spans[0]["end"]
        numbers = [record["id"] for record in records if f"Übung {record['id']}\n" in chunk.text]
        assert numbers and all(f'"id": {n},' in "\n".join(original[start - 1 : end]) for n in numbers)


def test_hostile_escapes_are_read(subtests):
    for path, content in [
        ("a.json", '"' + "\\" * 100_001),
        ("a.json", '"\\u' * 30_000),
        ("a.json", '"' + '\\"' * 50_001),
        ("a.yaml", "- " * 2_000 + '"\\u00e9"'),
        ("a.yaml", '"\\' + "x" * 200_000),
        ("a.toml", '"""' * 3_001 + "\\"),
        ("a.toml", '"' + "\\a" * 100_000),
        ("a.xml", "<!--\n" * 50_000 + "&lt;"),
        ("a.xml", "<![CDATA[\n" * 20_000 + "&#" * 10_000),
        ("a.properties", "\\\n" * 50_000),
        ("a.properties", "a\\" * 50_000 + "=" * 1_000),
        ("a.properties", "\\u" * 50_000),
    ]:
        with subtests.test(case=(path, content[:10])):
            parse(content.encode(), path)
