"""Chunks of Markdown, text and pages: headings, packing, walls, spans that slice back."""

import re

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ingest.chunking.lines import TokenCounts
from ingest.chunking.prose import chunk_prose
from ingest.chunking.types import MAX_BREADCRUMB_TOKENS, MAX_CHARS, MAX_TOKENS
from ingest.parsers.decode import decode, split_lines
from ingest.parsers.outline_writer import find_header
from ingest.parsers.types import Block, LineSpan, Outline, PageSpan, ParsedDocument, RegionSpan, TimeSpan

SENTENCE = "The quick brown fox jumps over the lazy dog. "
#: A section of this text is large enough for a chunk of its own, and two fit in one.
LONG = (SENTENCE * 7).strip()

# A line of markup alone is no text of Markdown.
_TAG = re.compile(r"\s*</?[A-Za-z][^<>]*>\s*")


def slice_lines(lines, span):
    return "\n".join(lines[span["start"] - 1 : span["end"]])


def letters(text: str) -> str:
    return re.sub(r"\W", "", "".join(line for line in text.split("\n") if not _TAG.fullmatch(line)))


def stands_in(text: str, source: str, is_html: bool) -> bool:
    """Return whether a chunk has the text of its lines: to the letter, or the letters alone of HTML."""
    if is_html:
        return letters(text) in letters(source)
    return text == source or ("\n" not in source and text in source)


def assert_sound(content: str | bytes, chunks, exact_counter) -> None:
    """Assert the properties of all chunks of Markdown and text files."""
    lines = split_lines(decode(content.encode() if isinstance(content, str) else content))
    chunks = [chunk for chunk in chunks if chunk.text]  # a file without text has one that names it
    is_html = any(_TAG.fullmatch(line) for line in lines)
    covered = set()
    for ordinal, chunk in enumerate(chunks):
        first = chunk.spans[0]
        assert chunk.ordinal == ordinal
        assert chunk.text.strip()
        assert stands_in(chunk.text, slice_lines(lines, first), is_html)
        assert chunk.token_count == exact_counter.count(chunk.text)
        assert exact_counter.count(chunk.breadcrumb + "\n" + chunk.text) <= MAX_TOKENS
        assert exact_counter.count(chunk.breadcrumb) <= MAX_BREADCRUMB_TOKENS
        assert len(chunk.text) <= MAX_CHARS
        covered.update(n for span in chunk.spans for n in range(span["start"], span["end"] + 1))
    assert {n for n, line in enumerate(lines, 1) if line.strip() and not _TAG.fullmatch(line)} <= covered


def test_chunk_has_its_plain_text_unless_it_is_code(chunk_file):
    assert [chunk.plain for chunk in chunk_file("An *inner*\n`word_x`", "a.md")] == ["An inner word_x"]
    assert [chunk.plain for chunk in chunk_file("x = 1", "a.py")] == [""]


def test_heading_starts_a_chunk_and_stays_out_of_its_text(chunk_file):
    guide = f"# Guide\n\n{LONG}\n\n## Install\n\n{LONG}\n\n### Linux\n\n{LONG}\n\n## Use\n\n{LONG}\n"
    chunks = chunk_file(guide, "a.md")
    assert [(c.breadcrumb, c.section_label, c.text) for c in chunks] == [
        ("Guide", "Guide", LONG),
        ("Guide > Install", "Install", LONG),
        ("Guide > Install > Linux", "Linux", LONG),
        ("Guide > Use", "Use", LONG),
    ]
    assert chunks[2].heading_path == ("Guide", "Install", "Linux")
    assert chunks[1].spans == ({"kind": "line", "start": 7, "end": 7}, {"kind": "line", "start": 5, "end": 5})


@pytest.mark.parametrize(
    ("sections", "breadcrumbs"),
    [
        # With the next section, to the least size.
        ([("## A", "one"), ("## B", "two"), ("## C", "LONG")], ["Guide > A · B · C"]),
        ([("## A", "LONG"), ("## B", "two"), ("## C", "LONG")], ["Guide > A", "Guide > B · C"]),
        # The last with the one before.
        ([("## A", "LONG"), ("## B", "two")], ["Guide > A · B"]),
        # A large section fills a chunk of its own.
        ([("## A", "one"), ("## B", "LARGE")], ["Guide > A", "Guide > B"]),
        # Those below a heading come first, then all of them with what is beside them.
        (
            [("## A", "one"), ("### A1", "two"), ("## B", "LONG"), ("## C", "LONG")],
            ["Guide > A · B", "Guide > C"],
        ),
        ([("## A", "one"), ("### A1", "LONG"), ("## B", "two")], ["Guide > A · B"]),
        # Neighbours under different headings stay apart.
        (
            [("## A", "LONG"), ("### A1", "one"), ("## B", "LONG"), ("### B1", "LONG")],
            ["Guide > A · A1", "Guide > B", "Guide > B > B1"],
        ),
    ],
)
def test_small_sections_share_a_chunk_with_their_neighbours(chunk_file, sections, breadcrumbs):
    bodies = {"LONG": LONG, "LARGE": SENTENCE * 25}
    content = "# Guide\n\n" + "\n\n".join(
        f"{heading}\n\n{bodies.get(body, body)}" for heading, body in sections
    )
    chunks = chunk_file(content, "a.md")
    assert [chunk.breadcrumb for chunk in chunks] == breadcrumbs


def test_merged_chunk_has_the_headings_in_its_text_and_cites_all_lines(chunk_file):
    (chunk,) = chunk_file("# Guide\n\n## Hours\n\nnine to five\n\n## Phone\n\n4711\n", "a.md")
    assert chunk.text == "## Hours\n\nnine to five\n\n## Phone\n\n4711"
    assert chunk.heading_path == ("Guide", "Hours · Phone")
    assert [(span["start"], span["end"]) for span in chunk.spans] == [(3, 9), (1, 1)]


def test_chunk_that_begins_with_an_introduction_is_below_its_heading_alone(chunk_file):
    (chunk,) = chunk_file("# Guide\n\nintro\n\n## Hours\n\nnine to five\n\n## Phone\n\n4711\n", "a.md")
    assert (chunk.heading_path, chunk.breadcrumb) == (("Guide",), "Guide · Hours · Phone")


def test_headings_that_fit_in_no_breadcrumb_are_in_the_text_alone(chunk_file):
    headings = [f"{name} {'word ' * 15}".strip() for name in "ABCDEF"]
    content = "# Guide\n\n" + "\n\n".join(f"## {heading}\n\n{heading[0].lower()}" for heading in headings)
    assert {chunk.breadcrumb.count("·") for chunk in chunk_file(content, "a.md")} <= {0, 1, 2, 3, 4}
    assert all(
        heading in "".join(c.text + c.breadcrumb for c in chunk_file(content, "a.md")) for heading in headings
    )


def test_chunk_has_its_headings_and_the_lines_of_the_file(chunk_file):
    (chunk,) = chunk_file("---\ntitle: Stated\n---\n# First\n\ntext\n", "a.md")
    assert (chunk.breadcrumb, chunk.heading_path) == ("Stated > First", ("First",))
    assert [(span["start"], span["end"]) for span in chunk.spans] == [(6, 6), (1, 3), (4, 4)]
    (chunk,) = chunk_file("# Guide\n\n## Install\n\ntext\n", "a.md")  # a heading without a body
    assert [span["start"] for span in chunk.spans] == [5, 1, 3]
    page = "<html><body>\n<h1>Guide</h1>\n<p>First\nparagraph</p>\n<p>Second</p>\n</body></html>\n"
    (chunk,) = chunk_file(page, "a.html")
    assert (chunk.text, chunk.breadcrumb) == ("First paragraph\n\nSecond", "Guide")
    assert chunk.spans == ({"kind": "line", "start": 3, "end": 5}, {"kind": "line", "start": 2, "end": 2})


def test_heading_without_text_does_not_become_a_chunk(chunk_file):
    _, chunk = chunk_file(f"# Guide\n\n{LONG}\n\n## Soon\n\n## Later\n\n{LONG}\n", "a.md")
    assert (chunk.breadcrumb, chunk.text) == ("Guide > Later", f"## Soon\n\n## Later\n\n{LONG}")
    (chunk,) = chunk_file("# Report\n\n**Date**:\n\n## Summary\n## Root cause\n## Action items\n", "a.md")
    assert chunk.text == "**Date**:\n\n## Summary\n## Root cause\n## Action items"
    (chunk,) = chunk_file(f"# Guide\n\n{LONG}\n\n## Soon\n", "a.md")
    assert (chunk.breadcrumb, chunk.text) == ("Guide", f"{LONG}\n\n## Soon")


def test_paragraphs_are_packed_up_to_the_limit(chunk_file, exact_counter):
    content = "# T\n\n" + "\n\n".join(SENTENCE * 4 for _ in range(30))
    chunks = chunk_file(content, "a.md")
    assert_sound(content, chunks, exact_counter)
    assert all(chunk.token_count > 200 for chunk in chunks[:-1])


def test_table_stays_whole_when_it_fits_and_is_split_by_line_otherwise(chunk_file, exact_counter):
    head = "| name | value |\n|---|---|\n"
    table = head + "".join(f"| n{n} | {n} |\n" for n in range(15))
    chunks = chunk_file(f"# T\n\n{SENTENCE * 18}\n\n{table}\n{SENTENCE * 3}\n", "a.md")
    assert sum(table.strip() in chunk.text for chunk in chunks) == 1
    large = head + "".join(f"| name {n} | value of it {n} |\n" for n in range(100))
    chunks = chunk_file(f"# T\n\nbefore\n\n{large}\nafter\n", "a.md")
    assert (chunks[0].text, chunks[-1].text) == ("before", "after")
    rows = [line for chunk in chunks[1:-1] for line in chunk.text.removeprefix(head).splitlines()]
    assert rows == large.removeprefix(head).splitlines()
    for chunk in chunks[1:-1]:
        assert chunk.text.startswith(head)
        assert exact_counter.count(f"{chunk.breadcrumb}\n{chunk.text}") <= 256
        assert {"kind": "line", "start": 5, "end": 6} in chunk.spans or chunk.spans[0]["start"] == 5


@pytest.mark.parametrize(
    ("lines", "header"),
    [
        (["Berth | Fee", "1 | 80"], (1, 1)),
        (["Berth | 2025 | 2026", "1 | 80 | 85"], (1, 1)),
        (["Harbour fees 2026", "in kroner |  | 2026", "Berth | Fee", "1 | 80"], (1, 3)),
        (["Harbour fees", "Berth | Fee", "1 | 80"], (1, 2)),
        (["Issued: | 2026-03-01", "Berth | Fee | Tax", "1 | 80 | 8"], (1, 2)),
        ([*["a long note"] * 9, "Berth | Fee", "1 | 80"], (10, 10)),
        ([" | Summer | Summer | Winter", "Berth | Fee | Tax | Fee", "1 | 8 | 1 | 7"], (1, 2)),
        (["Gauge | Spring |  | Neap", " | High | Low | High", "A | 1 | 2 | 3"], (1, 2)),
        (["Gauge | Spring |  | Neap", "A | b | c | d", "B | e | f | g"], (1, 1)),
        (["1 | 80", "2 | 70"], (1, 0)),
        (["north | north", "1 | 80"], (1, 0)),
        (["one cell", "another"], (1, 0)),
        (["a|b", "-|-", "1|2"], (1, 2)),
    ],
)
def test_header_of_a_table_is_its_first_row_of_names(lines, header):
    assert find_header(lines) == header


def test_kind_and_language_of_chunks(chunk_file, subtests):
    fenced = f"# T\n\n```Go\n{'func main() { run(1, 2, 3) }' * 6}\n```\n\n## B\n\n{LONG}\n"
    for content, path, kinds in [
        (fenced, "a.md", [("code", "go"), ("info", None)]),
        ("```\noutput of a command\n```\n", "a.md", [("info", None)]),
        ('{\n  "port": 8000\n}\n', "conf/app.json", [("code", "json")]),
    ]:
        with subtests.test(case=content[:20]):
            assert [(chunk.kind, chunk.language) for chunk in chunk_file(content, path)] == kinds


def test_heading_that_a_breadcrumb_cannot_hold_is_text(chunk_file, exact_counter):
    headings = [f"{'#' * level} {'level ' * 20}{level}" for level in range(1, 7)]
    content = "\n\n".join(headings) + "\n\nthe text\n"
    chunks = chunk_file(content, "a.md")
    assert_sound(content, chunks, exact_counter)
    assert "…" in chunks[-1].breadcrumb
    assert "level 6" in chunks[-1].text and chunks[-1].text.endswith("the text")

    content = f"# The harbour\n\n## Lockkeeper\n\n### {'word ' * 90}\n\n{LONG}\n\n### More\n\n{LONG * 2}\n"
    chunks = chunk_file(content, "a.md")
    assert_sound(content, chunks, exact_counter)
    assert chunks[0].text.startswith("# The harbour\n\n## Lockkeeper\n\n### word")
    assert (chunks[-1].breadcrumb, chunks[-1].text) == ("The harbour > Lockkeeper > More", LONG * 2)

    ideographs = f"# {'部署' * 150}\n\n## {'指南' * 150}\n\ntext\n"
    for content in ("# " + "word " * 5000 + "\n\ntext\n", ideographs):
        assert_sound(content, chunk_file(content, "a.md"), exact_counter)


def test_front_matter_with_nothing_below_is_text(chunk_file, exact_counter):
    content = "---\ntitle: Stated\ndescription: secretword\n---\n\n"
    (chunk,) = chunk_file(content, "a.md")
    assert_sound(content, [chunk], exact_counter)
    assert (chunk.breadcrumb, "secretword" in chunk.text) == ("Stated", True)
    assert chunk.spans == ({"kind": "line", "start": 1, "end": 4},)
    content = "---\ntitle: Stated\nwords:\n" + f"  - {SENTENCE}\n" * 90 + "---\n"
    chunks = chunk_file(content, "a.md")
    assert len(chunks) > 3
    assert_sound(content, chunks, exact_counter)


@pytest.mark.parametrize("path", ["a.md", "a.mdx", "a.txt"])
def test_chunks_of_hostile_prose_lose_no_text(chunk_file, exact_counter, path, subtests):
    for content in ["", "\n\n", "   \n\t\n", "\ufeff"]:
        (named,) = chunk_file(content, path)
        assert (named.breadcrumb, named.text, named.token_count) == ("a", "", 0)
        assert named.spans == ({"kind": "line", "start": 1, "end": 1},)
    for content in [
        b"some words \x00 and a few more words \x00 here\n",
        b"\xff\xfe\xfd invalid utf-8 with words \xff and \xc3\x28",
        b"word " * 8_000,
        "部署指南。".encode() * 1_000,
        b"x" * 50_000,
        b"a-b" * 4_000,
        b"-" * 20_000,
        (b"y" * 150 + b" ") * 300,
        "각".encode() * 1_000,
        b"a\rb\r\nc\n\rd" * 200,
        b"\n".join(b"# heading %d" % n for n in range(300)),
        b"".join(b"  " * depth + b"- item\n" for depth in range(100)),
        b"```js\n" + b"let a = 1;\n" * 300,
        b"\xef\xbb\xbf# BOM\n\ntext",
        b"> " + SENTENCE.encode() * 100,
        b"some words here a\x0cb and more\x0bc and then\x1dd to the end " * 100,
    ]:
        with subtests.test(case=content[:12]):
            assert_sound(content, chunk_file(content, path), exact_counter)


WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]
MARKS = "# One|## Two|### Three|```py|```|- item|  - inner|> quote|---|===|    indented"
LINE = st.one_of(
    st.sampled_from(
        ["", *MARKS.split("|"), "[r]: http://x", "| a | b |", "|---|---|", "x" * 700, "长句子没有空格" * 60]
    ),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=60).map(" ".join),
)
# Markup within a line is left out of the text, as other tests say.
CHARACTERS = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="<{&")
TEXT_LINES = st.lists(LINE | st.text(CHARACTERS, max_size=60), max_size=60)
HTML_LINES = st.lists(LINE | st.sampled_from(["<div>", "</div>"]), max_size=60)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    lines=TEXT_LINES | HTML_LINES,
    end=st.sampled_from(["\n", "\r\n"]),
    path=st.sampled_from(["a.md", "a.mdx", "a.txt"]),
)
@example(["- item", "</div>", "# One"], "\n", "a.md")
def test_any_document_is_covered_and_slices_back(chunk_file, exact_counter, lines, end, path):
    content = end.join(lines)
    assert_sound(content, chunk_file(content, path), exact_counter)


@pytest.mark.parametrize("sentences", [26, 30, 60, 200])
def test_long_line_is_cut_at_sentences_into_pieces_of_about_one_size(chunk_file, sentences):
    texts = [chunk.text for chunk in chunk_file(SENTENCE * sentences, "a.txt")]
    assert len(texts) > 1
    assert all(text.endswith("dog.") for text in texts)
    sizes = [text.count("dog.") for text in texts]
    assert sum(sizes) == sentences
    assert max(sizes) - min(sizes) <= 1


def document(lines, blocks, **outline) -> ParsedDocument:
    fields = {"title": "Title", "lang": "en", "mime": "application/pdf", "media": "pdf", "parser": "pdf"}
    empty = {"language": None, "metadata": {}, "tags": (), "omissions": (), "warnings": ()}
    return ParsedDocument(outline=Outline(lines=lines, blocks=blocks, **outline), **fields, **empty)


def paragraphs(count: int) -> list[Block]:
    return [Block(kind="paragraph", span=LineSpan(line, line)) for line in range(1, count + 1)]


#: places of three lines, the place around the first two, the same on the wire
PLACES = [
    ([PageSpan(2), PageSpan(2), PageSpan(3)], PageSpan(2), {"kind": "page", "page": 2}),
    (
        [RegionSpan(10, 20, 30, 5), RegionSpan(5, 26, 20, 6), RegionSpan(0, 90, 9, 9)],
        RegionSpan(5, 20, 35, 12),
        {"kind": "region", "x": 5, "y": 20, "w": 35, "h": 12},
    ),
    (
        [TimeSpan(1_500, 2_000), TimeSpan(2_000, 4_250), TimeSpan(9_000, 9_100)],
        TimeSpan(1_500, 4_250),
        {"kind": "time", "start_s": 1.5, "end_s": 4.25},
    ),
    (
        [LineSpan(4, 4), LineSpan(7, 9), LineSpan(20, 20)],
        LineSpan(4, 9),
        {"kind": "line", "start": 4, "end": 9},
    ),
]


@pytest.mark.parametrize(("origins", "around", "wire"), PLACES)
def test_chunk_is_cited_by_the_places_of_its_lines(exact_counter, origins, around, wire):
    parsed = document(["one", "two", "three"], paragraphs(3), origins=origins, walls=(3,))
    assert parsed.source_span(1, 2) == around
    assert parsed.source_span(3, 3) == origins[2]
    assert type(around).around(origins[1::-1]) == around
    first, second = chunk_prose(parsed, TokenCounts(exact_counter))
    assert (first.text, list(first.spans)) == ("one\ntwo", [wire])
    assert (second.text, list(second.spans)) == ("three", [origins[2].to_wire()])


@pytest.mark.parametrize("walls", [(), (2,), (3, 5), (2, 3, 4, 5, 6)])
def test_chunks_end_at_page_boundaries(exact_counter, walls):
    lines = [f"line {number}" for number in range(1, 7)]
    parsed = document(lines, paragraphs(6), walls=walls)
    # Without places of their own, lines are those of the file.
    assert parsed.source_span(1, 2) == LineSpan(1, 2)
    spans = [chunk.spans[0] for chunk in chunk_prose(parsed, TokenCounts(exact_counter))]
    ends = [wall - 1 for wall in (*walls, 7)]
    assert [(span["start"], span["end"]) for span in spans] == list(zip([1, *walls], ends, strict=True))


def test_heading_before_a_page_break_joins_the_first_chunk_below_it(exact_counter):
    blocks = [Block(kind="heading", span=LineSpan(1, 1), text="Part", level=1), *paragraphs(3)[1:]]
    origins = [PageSpan(1), PageSpan(2), PageSpan(3)]
    parsed = document(["Part", "two", "three"], blocks, origins=origins, walls=(2, 3))
    first, second = chunk_prose(parsed, TokenCounts(exact_counter))
    assert [span["page"] for span in first.spans] == [2, 1]
    assert (second.text, second.breadcrumb, second.spans[0]["page"]) == ("three", "Title > Part", 3)
