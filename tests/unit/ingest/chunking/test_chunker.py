"""Chunks of code tile their file, whatever its content."""

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from ingest.chunking.types import MAX_CHARS
from ingest.parsers.errors import ParseRefused
from tests.unit.ingest.chunking.tiling import assert_tiled

FUNCTION = '''def run_{n}(first, second):
    """Adds the two numbers and tells the caller."""
    total = first + second
    if total > {n}:
        print("large", total)
    return total
'''


def test_small_file_is_one_chunk(chunk_file):
    (chunk,) = chunk_file(FUNCTION.format(n=1), "src/a.py")
    assert (chunk.breadcrumb, chunk.section_label) == ("src/a.py > function run_1", "run_1")
    assert (chunk.heading_path, chunk.language) == (("function run_1",), "python")
    (chunk,) = chunk_file("fun run() {\n}\n", "src/a.kt")  # a language without a grammar
    assert (chunk.breadcrumb, chunk.section_label, chunk.language) == ("src/a.kt", "lines 1-2", "kotlin")
    assert chunk.heading_path == ()


def test_file_is_cut_between_functions(chunk_file, exact_counter):
    content = "\n\n".join(FUNCTION.format(n=n) for n in range(40))
    chunks = chunk_file(content, "src/a.py")
    assert_tiled(content, chunks, exact_counter)
    assert all(chunk.text.startswith("def run_") for chunk in chunks)
    assert len(chunks) > 5


def test_chunks_of_hostile_code_cover_the_whole_file(chunk_file, exact_counter, subtests):
    for content in [
        *(b"", b"\n\n", b"\n\n\nx = 1\n\n\n", b"x = 1", b"x\r\ny\rz\n", b"{\n" * 3_000, b"x\x00y\n" * 10),
        b"x = '" + b"ab, " * 400 + b"'\n\ny = 2\n",
        b"\n" * 10_000 + b"x\n",
        b"\t" * 6_000 + b"x\n" + b"y\n" * 100,
    ]:
        with subtests.test(case=content[:10]):
            assert_tiled(content, chunk_file(content, "a.c"), exact_counter)
    long_path = "/".join(["some_directory_name"] * 30) + "/a.py"
    content = FUNCTION.format(n=1) * 20
    assert_tiled(content, chunk_file(content, long_path), exact_counter)


LINE = st.one_of(
    st.sampled_from(["", "}", "call(" + "a, " * 200 + ")"]),
    st.builds(
        lambda depth, text: "    " * depth + text, st.integers(0, 4), st.text("abc_(){}=+ ", max_size=80)
    ),
)


@given(lines=st.lists(LINE, max_size=120))
def test_any_code_is_tiled(chunk_file, exact_counter, lines):
    content = "\n".join([*lines, *["short = line"] * 20])
    try:
        chunks = chunk_file(content, "src/a.js")
    except ParseRefused:
        reject()  # mostly long lines: minified
    assert_tiled(content, chunks, exact_counter)


@pytest.mark.parametrize("path", ["a.py", "a.lua"])
@pytest.mark.parametrize("above", [0, 3_000])
def test_blank_lines_make_no_chunk_longer_than_the_limit(chunk_file, exact_counter, path, above):
    blank = " " * 20 + "\n"
    content = f"{blank * above}x = 1\n{blank * 3_000}y = 2\n"
    chunks = chunk_file(content, path)
    assert_tiled(content, chunks, exact_counter)
    assert max(len(chunk.text) for chunk in chunks) <= MAX_CHARS
