"""CSV, JSON, YAML, TOML, logs, SVG."""

import json

import pytest

from ingest.parsers.errors import ParseRefused
from ingest.parsers.registry import parse
from ingest.parsers.structured import _breaks
from ingest.parsers.types import LineSpan


def blocks_of(text: str, path: str):
    return parse(text.encode(), path).outline.blocks


def header_of(text: str, path: str = "a.csv") -> str | None:
    return next((block.text for block in blocks_of(text, path) if block.kind == "heading"), None)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_and_the_header_names_the_columns(delimiter):
    rows = [["id", "name", "price"], ["1", "bolt", "2.5"], ["2", "nut, small", "1.0"]]
    assert header_of("\n".join(delimiter.join(f'"{c}"' for c in row) for row in rows)) == "id | name | price"


@pytest.mark.parametrize(
    "text",
    [
        "1,2\n3,4\n",
        "red,blue\nblue,red\nred,red\n",
        "one column\nof words\n",
        "a,a\n1,2\n",
        "word, with commas\nin, no, regular, order\nat all\n",
        "",
        "\n\n",
        "only,header\n",
    ],
)
def test_without_a_header_no_row_is_taken_for_one(text):
    assert header_of(text) is None


def test_every_chunk_of_a_long_table_knows_its_columns(chunk_file):
    rows = "".join(f"{n},quay number {n},{n / 7:.3f}\n" for n in range(500))
    chunks = chunk_file(f"gauge,place,depth in metres\n{rows}", "depths.csv")
    assert len(chunks) > 10
    assert {chunk.breadcrumb for chunk in chunks} == {"depths.csv > gauge | place | depth in metres"}


def test_a_record_over_several_lines_is_not_cut(chunk_file):
    rows = "".join(f'{n},"first line of {n}\nsecond line of {n}"\n' for n in range(200))
    for chunk in chunk_file(f"id,note\n{rows}", "a.csv"):
        assert chunk.text.count("first") == chunk.text.count("second")


def test_comments_above_a_table_are_kept():
    assert [block.kind for block in blocks_of("# of 2024\na,b\n1,2\n", "a.csv")] == [
        *["paragraph", "heading", "table"]
    ]


@pytest.mark.parametrize("text", ['"' * 999, 'a,"b\n' * 500, "a,b\n" + '"' + "x" * 200_000, "\x00,\x00\n"])
def test_odd_tables_are_read(text):
    parsed = parse(text.encode(), "a.csv")
    assert parsed.parser in ("table", "structured")
    assert len(parsed.outline.lines) == len(text.splitlines())


def test_records_of_data_are_cut_whole_where_they_fit(chunk_file):
    record = {"name": "gauge", "limits": {"high": 520, "low": 90}, "call": ["harbour master", "lock keeper"]}
    text = json.dumps({"gauges": [{**record, "number": n} for n in range(30)]}, indent=2)
    chunks = chunk_file(text, "a.json")
    assert len(chunks) > 5
    for chunk in chunks[1:]:
        assert chunk.text.startswith("    {\n")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (json.dumps([{"id": 1, "text": "word " * 140}], indent=2), "a.json"),
        (f"words: [\n  {'word ' * 140}\n]\n", "a.yaml"),
        (f"words = [\n  '{'word ' * 140}'\n]\n", "a.toml"),
        (f"key = '{'word ' * 140}'\n]\n]\n", "a.ini"),
    ],
)
def test_a_long_line_with_nothing_but_brackets_behind_it_is_read_as_data(text, path):
    parsed = parse(text.encode(), path)
    assert (parsed.parser, parsed.warnings) == ("structured", ())


def test_sections_of_toml_stay_together_with_their_comments(chunk_file):
    section = "# what it does, number {0}\n[part{0}]\n" + "".join(
        f'key_{n} = "value {n}"\n' for n in range(9)
    )
    chunks = chunk_file("".join(section.format(n) for n in range(12)), "a.toml")
    assert len(chunks) > 2
    for chunk in chunks:
        assert chunk.text.startswith("# what it does")


def test_keys_of_yaml_are_cut_whole_where_they_fit(chunk_file):
    text = "".join(
        f"service{n}:\n" + "".join(f"  option{m}: value {m}\n" for m in range(9)) for n in range(20)
    )
    for chunk in chunk_file(text, "a.yaml"):
        assert chunk.text.startswith("service")


def test_a_stack_trace_stays_with_its_message(chunk_file):
    trace = "Traceback (most recent call last):\n" + '  File "a.py", line 1, in run\n    call()\n' * 3
    entry = "2024-02-29 07:00:00,756 ERROR gauged: no copy, try {0}\n" + trace + "OSError: number {0}\n"
    chunks = chunk_file("".join(entry.format(n) for n in range(20)), "a.log")
    assert len(chunks) > 5
    for chunk in chunks:
        assert chunk.text.startswith("2024-02-29")
        assert chunk.text.count("ERROR") == chunk.text.count("OSError")


def test_data_on_one_endless_line_is_refused():
    text = "[" + "1," * 600_000 + "1]"
    with pytest.raises(ParseRefused, match="a line of it has 1200003 characters") as refusal:
        parse(text.encode(), "a.json")
    assert refusal.value.code == "minified"


def test_data_on_one_long_line_is_cut(chunk_file):
    text = json.dumps([{"number": n, "quay": f"quay {n}"} for n in range(500)])
    chunks = chunk_file(text, "a.json")
    assert {chunk.spans[0]["end"] for chunk in chunks} == {1}
    assert "".join(chunk.text for chunk in chunks).replace(" ", "") == text.replace(" ", "")


SVG = """<?xml version="1.0"?>
<!DOCTYPE svg [<!ENTITY a "aaaa"><!ENTITY b "bbbb">]>
<svg xmlns="http://www.w3.org/2000/svg"><title>Lock</title>
<style>.hidden { fill: red }</style><metadata>made by hand</metadata>
<text x="1"><tspan x="1">upper</tspan><tspan x="1">gate</tspan></text>
<text>&b;</text><script>secret()</script>
<foreignObject><div>in a <b>box</b></div></foreignObject></svg>
"""


def test_a_drawing_is_its_words():
    parsed = parse(SVG.encode(), "a.svg")
    assert parsed.title == "Lock"
    assert list(parsed.outline.lines) == ["Lock", "upper gate", "&b;", "in a box"]
    assert [origin.start for origin in parsed.outline.origins] == [3, 5, 6, 7]


def test_a_drawing_without_words_is_refused():
    with pytest.raises(ParseRefused, match="holds no words") as refusal:
        parse(b'<svg xmlns="x"><path d="M0 0"/></svg>', "a.svg")
    assert refusal.value.code == "no_text"


def test_a_line_end_that_is_written_out_in_a_drawing_is_no_line_of_the_file():
    outline = parse(b"<svg><text>upper&#10;gate</text>\n<text>lower</text></svg>", "a.svg").outline
    assert list(outline.lines) == ["upper gate", "lower"]
    assert [(origin.start, origin.end) for origin in outline.origins] == [(1, 1), (2, 2)]


@pytest.mark.parametrize(
    "declared",
    ['<!ENTITY b "&a;&a;">', "<!ENTITY b 'x&a;'>", '<!ENTITY % b "&a;&a;">'],
)
def test_a_drawing_with_entities_made_of_entities_is_refused(declared):
    content = SVG.replace("]>", f"{declared}]>")
    with pytest.raises(ParseRefused) as refusal:
        parse(content.encode(), "a.svg")
    assert refusal.value.code == "xml_entities"


def test_thousands_of_comment_lines_are_looked_at_once():
    lines = ["key: value", *["# comment"] * 3_000, "other: value", "", "last: value"]
    looked_at = CountedLines(lines)
    assert 2 in list(_breaks(looked_at, LineSpan(1, 3_002), has_sections=False))
    assert looked_at.count < 100 * len(lines)


class CountedLines(list[str]):
    """Lines that count how often one of them is asked for."""

    count = 0

    def __getitem__(self, at):
        self.count += 1
        return super().__getitem__(at)
