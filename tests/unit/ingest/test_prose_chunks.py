import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.chunking.types import MAX_BREADCRUMB_TOKENS, MAX_CHARS, MAX_TOKENS
from ingest.parsers.decoding import decode, split_lines

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]
SENTENCE = "The quick brown fox jumps over the lazy dog. "


def sliced(lines, span):
    return "\n".join(lines[span["start"] - 1 : span["end"]])


def assert_sound(content: str | bytes, chunks, exact_counter) -> None:
    """What holds for the chunks of every Markdown and text file."""
    lines = split_lines(decode(content.encode() if isinstance(content, str) else content))
    covered = set()
    for ordinal, chunk in enumerate(chunks):
        first = chunk.spans[0]
        assert chunk.ordinal == ordinal
        assert chunk.text.strip()
        assert chunk.text == sliced(lines, first) or (
            first["start"] == first["end"] and chunk.text in lines[first["start"] - 1]
        )
        assert chunk.token_count == exact_counter.count(chunk.text)
        assert exact_counter.count(chunk.breadcrumb + "\n" + chunk.text) <= MAX_TOKENS
        assert exact_counter.count(chunk.breadcrumb) <= MAX_BREADCRUMB_TOKENS
        assert len(chunk.text) <= MAX_CHARS
        covered.update(n for span in chunk.spans for n in range(span["start"], span["end"] + 1))
    assert {n for n, line in enumerate(lines, 1) if line.strip()} <= covered


def test_heading_starts_a_chunk_and_stays_out_of_its_text(chunk_file):
    chunks = chunk_file(
        "# Guide\n\nintro\n\n## Install\n\nrun it\n\n### Linux\n\napt\n\n## Use\n\ngo\n", "a.md"
    )
    assert [(c.breadcrumb, c.section_label, c.text) for c in chunks] == [
        ("Guide", "Guide", "intro"),
        ("Guide > Install", "Install", "run it"),
        ("Guide > Install > Linux", "Linux", "apt"),
        ("Guide > Use", "Use", "go"),
    ]
    assert chunks[2].heading_path == ("Guide", "Install", "Linux")
    assert chunks[1].spans == ({"kind": "line", "start": 7, "end": 7}, {"kind": "line", "start": 5, "end": 5})


def test_breadcrumb_begins_with_the_title(chunk_file):
    (chunk,) = chunk_file("---\ntitle: Stated\n---\n# First\n\ntext\n", "a.md")
    assert (chunk.breadcrumb, chunk.heading_path) == ("Stated > First", ("First",))
    assert [(span["start"], span["end"]) for span in chunk.spans] == [(6, 6), (1, 3), (4, 4)]


def test_heading_without_a_body_goes_to_its_first_subsection(chunk_file):
    (chunk,) = chunk_file("# Guide\n\n## Install\n\ntext\n", "a.md")
    assert [span["start"] for span in chunk.spans] == [5, 1, 3]


def test_heading_with_nothing_below_is_its_own_text(chunk_file):
    chunks = chunk_file("# Guide\n\ntext\n\n## Soon\n\n## Later\n\nmore\n", "a.md")
    assert [(c.breadcrumb, c.text) for c in chunks][1] == ("Guide > Soon", "## Soon")


def test_paragraphs_are_packed_up_to_the_limit(chunk_file, exact_counter):
    content = "# T\n\n" + "\n\n".join(SENTENCE * 4 for _ in range(30))
    chunks = chunk_file(content, "a.md")
    assert_sound(content, chunks, exact_counter)
    assert all(chunk.token_count > 200 for chunk in chunks[:-1])


def test_table_and_code_stay_whole_when_they_fit(chunk_file):
    table = "| name | value |\n|---|---|\n" + "".join(f"| n{n} | {n} |\n" for n in range(15))
    chunks = chunk_file(f"# T\n\n{SENTENCE * 18}\n\n{table}\n{SENTENCE * 3}\n", "a.md")
    assert sum(table.strip() in chunk.text for chunk in chunks) == 1


def test_large_table_is_split_by_line(chunk_file, exact_counter):
    table = "| name | value |\n|---|---|\n" + "".join(f"| name {n} | value of it {n} |\n" for n in range(300))
    content = f"# T\n\nbefore\n\n{table}\nafter\n"
    chunks = chunk_file(content, "a.md")
    assert_sound(content, chunks, exact_counter)
    assert chunks[0].text == "before"
    assert chunks[-1].text == "after"


def test_code_chunk_names_its_language(chunk_file):
    chunks = chunk_file(
        "# T\n\n```Go\nfunc main() { run(1, 2, 3) }\n```\n\n## B\n\nmany words of prose here\n", "a.md"
    )
    assert [(c.kind, c.language) for c in chunks] == [("code", "go"), ("info", None)]


def test_fence_without_language_is_info(chunk_file):
    assert chunk_file("```\noutput of a command\n```\n", "a.md")[0].kind == "info"


def test_data_files_are_code_of_their_format(chunk_file):
    (chunk,) = chunk_file('{\n  "port": 8000\n}\n', "conf/app.json")
    assert (chunk.kind, chunk.language, chunk.breadcrumb) == ("code", "json", "app.json")


def test_long_breadcrumb_loses_its_middle_but_no_heading_is_lost(chunk_file, exact_counter):
    headings = [f"{'#' * level} {'level ' * 20}{level}" for level in range(1, 7)]
    content = "\n\n".join(headings) + "\n\nthe text\n"
    chunks = chunk_file(content, "a.md")
    assert_sound(content, chunks, exact_counter)
    assert "…" in chunks[-1].breadcrumb
    assert "level 6" in chunks[-1].text and chunks[-1].text.endswith("the text")


def test_a_heading_that_is_handed_on_is_text_where_the_breadcrumb_does_not_say_it(chunk_file, exact_counter):
    content = f"# The harbour\n\n## Lockkeeper\n\n### {'word ' * 90}\n\nthe text\n\n### More\n\nof it\n"
    chunks = chunk_file(content, "a.md")
    assert_sound(content, chunks, exact_counter)
    assert chunks[0].text.startswith("# The harbour\n\n## Lockkeeper\n\n### word")
    assert (chunks[-1].breadcrumb, chunks[-1].text) == ("The harbour > Lockkeeper > More", "of it")


def test_front_matter_with_nothing_below_is_text(chunk_file, exact_counter):
    content = "---\ntitle: Stated\ndescription: secretword\n---\n\n"
    (chunk,) = chunk_file(content, "a.md")
    assert_sound(content, [chunk], exact_counter)
    assert (chunk.breadcrumb, "secretword" in chunk.text) == ("Stated", True)
    assert chunk.spans == ({"kind": "line", "start": 1, "end": 4},)


def test_endless_front_matter_is_cut(chunk_file, exact_counter):
    content = "---\ntitle: Stated\nwords:\n" + f"  - {SENTENCE}\n" * 90 + "---\n"
    chunks = chunk_file(content, "a.md")
    assert len(chunks) > 3
    assert_sound(content, chunks, exact_counter)


def test_huge_heading_is_text(chunk_file, exact_counter):
    content = "# " + "word " * 5000 + "\n\ntext\n"
    assert_sound(content, chunk_file(content, "a.md"), exact_counter)


def test_html_chunks_point_at_lines_of_the_file(chunk_file):
    page = "<html><body>\n<h1>Guide</h1>\n<p>First\nparagraph</p>\n<p>Second</p>\n</body></html>\n"
    (chunk,) = chunk_file(page, "a.html")
    assert (chunk.text, chunk.breadcrumb) == ("First paragraph\n\nSecond", "Guide")
    assert chunk.spans == ({"kind": "line", "start": 3, "end": 5}, {"kind": "line", "start": 2, "end": 2})


@pytest.mark.parametrize("content", ["", "\n\n", "   \n\t\n", "\ufeff"])
def test_file_without_text_has_no_chunk(chunk_file, content):
    assert chunk_file(content, "a.md") == []
    assert chunk_file(content, "a.txt") == []


@pytest.mark.parametrize(
    "content",
    [
        b"some words \x00 and a few more words \x00 here\n",
        b"\xff\xfe\xfd invalid utf-8 with words \xff and \xc3\x28",
        b"word " * 200_000,
        "部署指南。".encode() * 20_000,
        b"x" * 1_000_000,
        b"a-b" * 100_000,
        b"-" * 500_000,
        "각".encode() * 5_000,
        b"a\rb\r\nc\n\rd" * 500,
        b"\n".join(b"# heading %d" % n for n in range(10_000)),
        b"".join(b"  " * depth + b"- item\n" for depth in range(200)),
        b"```js\n" + b"let a = 1;\n" * 3_000,
        b"\xef\xbb\xbf# BOM\n\ntext",
        b"> " + SENTENCE.encode() * 100,
        b"some words here a\x0cb and more\x0bc and then\x1dd to the end " * 500,
    ],
    ids=lambda content: repr(content[:12]),
)
@pytest.mark.parametrize("path", ["a.md", "a.mdx", "a.txt"])
def test_hostile_files_lose_nothing(chunk_file, exact_counter, content, path):
    assert_sound(content, chunk_file(content, path), exact_counter)


LINE = st.one_of(
    st.sampled_from(
        ["", "", "# One", "## Two", "### Three", "```py", "```", "- item", "  - inner", "> quote"]
    ),
    st.sampled_from(
        ["| a | b |", "|---|---|", "<div>", "</div>", "---", "===", "    indented", "[r]: http://x"]
    ),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=60).map(" ".join),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=60),
    st.just("x" * 700),
    st.just("长句子没有空格" * 60),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    lines=st.lists(LINE, max_size=60),
    end=st.sampled_from(["\n", "\r\n"]),
    path=st.sampled_from(["a.md", "a.mdx", "a.txt"]),
)
def test_any_document_is_covered_and_slices_back(chunk_file, exact_counter, lines, end, path):
    content = end.join(lines)
    assert_sound(content, chunk_file(content, path), exact_counter)


@pytest.mark.parametrize("sentences", [26, 30, 60, 200])
def test_a_long_line_is_cut_at_sentences_into_pieces_of_about_one_size(chunk_file, sentences):
    texts = [chunk.text for chunk in chunk_file(SENTENCE * sentences, "a.txt")]
    assert len(texts) > 1
    assert all(text.endswith("dog.") for text in texts)
    sizes = [text.count("dog.") for text in texts]
    assert sum(sizes) == sentences
    assert max(sizes) - min(sizes) <= 1
