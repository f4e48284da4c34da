"""CSV, JSON, YAML, TOML, logs, SVG."""

import json

import pytest

from ingest.parsers.data.structured import _breaks
from ingest.parsers.errors import ParseRefused
from ingest.parsers.registry import parse
from ingest.parsers.types import LineSpan


def blocks_of(text: str, path: str):
    return parse(text.encode(), path).outline.blocks


def header_of(text: str) -> str | None:
    return next((block.text for block in blocks_of(text, "a.csv") if block.kind == "heading"), None)


def operation_refusal(text: str, path: str) -> ParseRefused:
    with pytest.raises(ParseRefused) as refusal:
        parse(text.encode(), path)
    return refusal.value


def test_header_of_a_table_names_its_columns(subtests):
    rows = [["id", "name", "price"], ["1", "bolt", "2.5"], ["2", "nut, small", "1.0"]]
    for delimiter in (",", ";", "\t", "|"):
        with subtests.test(case=delimiter):
            text = "\n".join(delimiter.join(f'"{cell}"' for cell in row) for row in rows)
            assert header_of(text) == "id | name | price"
    for text in [
        *("1,2\n3,4\n", "red,blue\nblue,red\nred,red\n", "one column\nof words\n", "a,a\n1,2\n"),
        *("word, with commas\nin, no, regular, order\nat all\n", "", "\n\n", "only,header\n"),
    ]:
        with subtests.test(case=text):
            assert header_of(text) is None
    kinds = [block.kind for block in blocks_of("# of 2024\na,b\n1,2\n", "a.csv")]
    assert kinds == ["paragraph", "heading", "table"]


def test_header_is_found_below_a_preamble(subtests):
    rows = "gauge;place;depth\n1;quay;2,5\n2;lock;1,0\n3;pier;4,2\n"
    for above, kinds in [
        ("sep=;\n", ["front_matter"]),
        ("\ufeffSEP=;\r\n\r\n", ["front_matter"]),
        ("Depths of 2024\n\nall in metres, at ebb\n", ["paragraph", "paragraph"]),
        ("Depths of 2024;;\n;;\nOffice;Quay;\n", ["paragraph"]),
        ("# made by gaugectl; version 2; all\n# \n", ["paragraph"]),
        ('"Depths, and\nlevels";;\n', ["paragraph"]),
    ]:
        with subtests.test(case=above):
            kinds_and_headings = [(block.kind, block.text) for block in blocks_of(above + rows, "a.csv")]
            assert kinds_and_headings == [
                *((kind, "") for kind in kinds),
                ("heading", "gauge | place | depth"),
                ("table", ""),
            ]
    assert header_of("sep=|\na,b|c;d\n1,5|2;5\n1,6|2;6\n") == "a,b | c;d"
    assert header_of("sep=;\none\ntwo\n") is None


def test_every_chunk_of_a_long_table_knows_its_columns_and_has_whole_records(chunk_file):
    rows = "".join(f"{n},quay number {n},{n / 7:.3f}\n" for n in range(500))
    chunks = chunk_file(f"gauge,place,depth in metres\n{rows}", "depths.csv")
    assert len(chunks) > 10
    assert {chunk.breadcrumb for chunk in chunks} == {"depths.csv > gauge | place | depth in metres"}
    rows = "".join(f'{n},"first line of {n}\nsecond line of {n}"\n' for n in range(200))
    for chunk in chunk_file(f"id,note\n{rows}", "a.csv"):
        assert chunk.text.count("first") == chunk.text.count("second")


def test_odd_tables_are_read(subtests):
    for text in ['"' * 999, 'a,"b\n' * 500, "a,b\n" + '"' + "x" * 200_000, "\x00,\x00\n"]:
        with subtests.test(case=text[:12]):
            parsed = parse(text.encode(), "a.csv")
            assert parsed.parser in ("table", "structured")
            assert len(parsed.outline.lines) == len(text.splitlines())


def test_records_of_data_are_cut_whole_where_they_fit(chunk_file, subtests):
    record = {"name": "gauge", "limits": {"high": 520, "low": 90}, "call": ["harbour master", "lock keeper"]}
    records = json.dumps({"gauges": [{**record, "number": n} for n in range(30)]}, indent=2)
    keys = "".join(f'key_{n} = "value {n}"\n' for n in range(9))
    sections = "".join(f"# what it does, number {n}\n[part{n}]\n{keys}" for n in range(12))
    options = "".join(f"  option{m}: value {m}\n" for m in range(9))
    services = "".join(f"service{n}:\n{options}" for n in range(20))
    trace = "Traceback (most recent call last):\n" + '  File "a.py", line 1, in run\n    call()\n' * 3
    entry = "2024-02-29 07:00:00,756 ERROR gauged: no copy, try {0}\n" + trace + "OSError: number {0}\n"
    log = "".join(entry.format(n) for n in range(20))
    for path, text, start in [
        ("a.json", records, "    {\n"),
        ("a.toml", sections, "# what it does"),
        ("a.yaml", services, "service"),
        ("a.log", log, "2024-02-29"),
    ]:
        with subtests.test(case=path):
            chunks = chunk_file(text, path)
            assert len(chunks) > 2
            for chunk in chunks[1:] if path == "a.json" else chunks:
                assert chunk.text.startswith(start)
                assert chunk.text.count("ERROR") == chunk.text.count("OSError")


def test_long_line_is_read_as_data(chunk_file, subtests):
    words = "word " * 140
    for text, path in [
        (json.dumps([{"id": 1, "text": words}], indent=2), "a.json"),
        (f"words: [\n  {words}\n]\n", "a.yaml"),
        (f"words = [\n  '{words}'\n]\n", "a.toml"),
        (f"key = '{words}'\n]\n]\n", "a.ini"),
    ]:
        with subtests.test(case=path):
            parsed = parse(text.encode(), path)
            assert (parsed.parser, parsed.warnings) == ("structured", ())
    text = json.dumps([{"number": n, "quay": f"quay {n}"} for n in range(500)])
    chunks = chunk_file(text, "a.json")
    assert {chunk.spans[0]["end"] for chunk in chunks} == {1}
    assert "".join(chunk.text for chunk in chunks).replace(" ", "") == text.replace(" ", "")
    endless = operation_refusal("[" + "1," * 600_000 + "1]", "a.json")
    assert (endless.code, "1200003" in endless.detail) == ("minified", True)


SVG = """<?xml version="1.0"?>
<!DOCTYPE svg [<!ENTITY a "aaaa"><!ENTITY b "bbbb">]>
<svg xmlns="http://www.w3.org/2000/svg"><title>Lock</title>
<style>.hidden { fill: red }</style><metadata>made by hand</metadata>
<text x="1"><tspan x="1">upper</tspan><tspan x="1">gate</tspan></text>
<text>&b;</text><script>secret()</script>
<foreignObject><div>in a <b>box</b></div></foreignObject></svg>
"""


def test_drawing_is_read_by_its_words():
    parsed = parse(SVG.encode(), "a.svg")
    assert parsed.title == "Lock"
    assert list(parsed.outline.lines) == ["Lock", "upper gate", "&b;", "in a box"]
    assert [origin.start for origin in parsed.outline.origins] == [3, 5, 6, 7]
    outline = parse(b"<svg><text>upper&#10;gate</text>\n<text>lower</text></svg>", "a.svg").outline
    assert list(outline.lines) == ["upper gate", "lower"]
    assert [(origin.start, origin.end) for origin in outline.origins] == [(1, 1), (2, 2)]
    assert list(parse(b'<svg xmlns="x"><path d="M0 0"/></svg>', "a.svg").outline.lines) == []


def test_drawing_with_entities_made_of_entities_is_refused(subtests):
    doubled, quoted = '<!ENTITY b "&a;&a;">', ("<!ENTITY b 'x&a;'>", "<!ENTITY b 'x &a;'>")
    for nested in (doubled, *quoted, '<!ENTITY % b "%a;&c;">'):
        with subtests.test(case=nested):
            assert operation_refusal(SVG.replace("]>", f"{nested}]>"), "a.svg").code == "xml_entities"
    plain = '<!ENTITY ns_svg "http://www.w3.org/2000/svg"><!ENTITY amp2 "&#38;">'
    drawing = f"<!DOCTYPE svg [{plain}]><svg><text>Tides</text></svg>"
    assert parse(drawing.encode(), "a.svg").outline.lines == ["Tides"]


class CountedLines(list[str]):
    """Lines that count how often one of them is read."""

    count = 0

    def __getitem__(self, at):
        self.count += 1
        return super().__getitem__(at)


def test_thousands_of_comment_lines_are_read_once():
    lines = CountedLines(["key: value", *["# comment"] * 3_000, "other: value", "", "last: value"])
    assert 2 in list(_breaks(lines, LineSpan(1, 3_002), has_sections=False))
    assert lines.count < 100 * len(lines)


def test_header_of_two_rows_names_each_column_by_its_group():
    rows = "".join(f"Gauge {n},{n},{n},{n},{n}\n" for n in range(9))
    for head in (
        "Station,Spring,,Neap,\n,High,Low,High,Low\n",
        "Station,Spring,Spring,Neap,Neap\n,High,Low,High,Low\n",
    ):
        names = "Station | Spring High | Spring Low | Neap High | Neap Low"
        assert header_of(head + rows) == names
        assert header_of(f"Tides of 2026,,,,\n{head}{rows}") == names
    assert header_of("name,,note\na,b,\nc,d,e\n") is None


def test_quotes_that_are_signs_of_inches_hold_no_records_together(subtests):
    stray = "part\tsize\n" + 'plate\t5" wide\n"bolt\t3\nring\t7\n'
    late = "part\tsize\n" + "ring\t7\n" * 90 + '"bolt\t3\n' + "hook\t9\n" * 90
    for text in (stray, late):
        with subtests.test(case=text[:20]):
            heading, table = blocks_of(text, "a.tsv")
            assert heading.text == "part | size"
            assert (table.span.start, table.span.end, table.breaks) == (2, text.count("\n"), ())


def test_every_passage_of_a_wide_record_names_its_columns(chunk_file):
    names = [f"attribute_{n:03}" for n in range(90)]
    text = "".join(
        ",".join(row) + "\n"
        for row in [["vessel", *names], *([f"Hull-{h}", *(f"v{h}x{n}" for n in range(90))] for h in range(5))]
    )
    chunks = chunk_file(text, "wide.csv")
    found = [chunk for chunk in chunks if "v4x77" in chunk.text]
    assert ["vessel: Hull-4" in chunk.text and "attribute_077: v4x77" in chunk.text for chunk in found] == [
        True
    ]
    assert found[0].spans[0] == {"kind": "line", "start": 6, "end": 6}
