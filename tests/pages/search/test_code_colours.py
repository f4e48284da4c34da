"""Highlighted code: same text, escaped, within limits; two readable colour schemes."""

import re
from html import unescape

import pytest

from search.documents.highlight import spans as highlight
from search.documents.highlight.child import spans
from search.pages.document import highlighted_code
from search.pages.document.highlighted_code import Code, highlight_lines, language_of_fence, language_of_path
from tests.pages.search.shelf import Passage, shelve
from tests.support.paths import ROOT

CODE = '# note\ndef run(n):\n    """Of\n    two lines."""\n    return "<b>" + n\n'
# For each continued line, Pygments' lexer of C takes twice as long, within one match: this would take years.
HOSTILE_C = ["int x//\\", *["//\\"] * 60, ";"]
PYTHON = Code(lines=["def run(): pass"], language="python")
TOKENS = ROOT / "kebab/pages/static/kebab/tokens.css"


def lines_of(lines, language):
    [written] = highlight_lines([Code(lines=lines, language=language)])
    return written


def plain(line):
    return unescape(re.sub(r"<[^>]*>", "", line))


@pytest.mark.slow
def test_colours_change_no_text_and_escape_it(subtests):
    lines = [*CODE.split("\n"), "<script>alert('x')</script>", "\tשלום 🎉 \x0b \x0c &amp; </span>", ""]
    for language in ["", *sorted(highlighted_code._LANGUAGES)]:
        with subtests.test(language=language):
            written = lines_of(lines, language)
            assert [plain(line) for line in written] == lines
            assert not any("<script" in line or "<b>" in line for line in written)
            assert all(line.count("<span") == line.count("</span>") for line in written)


def test_words_have_the_class_of_what_they_are():
    note, definition, started, ended, returned, _ = lines_of(CODE.split("\n"), "python")

    assert note == '<span class="c"># note</span>'
    assert '<span class="k">def</span> <span class="f">run</span>' in definition
    assert '<span class="s">' in started
    assert '<span class="s">' in ended
    assert '<span class="s">&lt;b&gt;</span>' in returned


def test_code_language_is_read_from_path_and_fence():
    paths = {"a/b.py": "python", "Dockerfile": "docker", "a.TSX": "typescript", "a.txt": "", "a.md": ""}
    fences = {"python": "python", "{.sh .numbered}": "bash", "c++ title": "cpp", "": "", "<b>": ""}

    assert {path: language_of_path(path) for path in paths} == paths
    assert {info: language_of_fence(info) for info in fences} == fences


def test_long_or_slow_code_is_not_coloured():
    for lines in (["x = 1 "] * 20_000, ["x" * 1_001]):
        assert lines_of(lines, "python") == lines
    assert list(spans("python", "def run(): pass", ends_at=float("inf")))
    assert list(spans("python", "def run(): pass", ends_at=0)) == []


@pytest.mark.slow
@pytest.mark.parametrize("language", ["c", "cpp"])
def test_slow_token_leaves_its_code_and_the_following_uncoloured(language, caplog):
    hostile = Code(lines=HOSTILE_C, language=language)
    before, within, after = highlight_lines([PYTHON, hostile, PYTHON])

    assert before == ['<span class="k">def</span> <span class="f">run</span>(): <span class="k">pass</span>']
    assert within == HOSTILE_C
    assert after == PYTHON.lines
    assert "without colours" in caplog.text


def test_malformed_answer_of_the_lexer_leaves_code_plain(monkeypatch, subtests):
    for found in (None, [1], [[0, 3]], [["0", 3, "k"]], [[0, 3, 'k" onclick="']], [[0, 3, "k\n"]]):
        with subtests.test(spans=found):
            replies = ({"spans": each} for each in [found])
            monkeypatch.setattr(highlight, "run_once", lambda *_, replies=replies: replies)
            assert highlight_lines([PYTHON]) == [PYTHON.lines]


def test_lexer_output_changes_no_text():
    spans_of_a_lexer = [(0, 3, "k"), (2, 5, "s"), (4, 99, "c")]

    assert list(highlighted_code._split_words("def run", spans_of_a_lexer)) == [
        ("", ""),
        ("k", "def"),
        ("", " "),
        ("c", "run"),
        ("", ""),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "mime", "text"),
    [
        ("a.c", "text/x-c", "\n".join(HOSTILE_C)),
        ("a.md", "text/markdown", "\n".join(["```cpp", *HOSTILE_C, "```"])),
    ],
)
def test_page_of_slow_code_is_answered(visitor, workspace, path, mime, text):
    media = "text" if path.endswith(".md") else "code"
    document = shelve(workspace, path, text, media=media, mime=mime, passages=[Passage(text="x")])
    page = visitor.get(f"/w/handbook/documents/{document.doc_id.hex}").content.decode()

    assert "int x//" in page


def test_code_and_fences_are_shown_in_colours_by_line(visitor, workspace):
    code = shelve(workspace, "a.py", CODE, media="code", mime="text/x-python", passages=[Passage(text="x")])
    page = visitor.get(f"/w/handbook/documents/{code.doc_id.hex}?start=2&end=2").content.decode()
    assert '<li id="L2" class="cited">' in page
    assert '<code><span class="k">def</span>' in page
    assert "&lt;b&gt;" in page

    fence = shelve(workspace, "a.md", f"# A\n\n```python\n{CODE}```\n", passages=[Passage(text="x")])
    page = visitor.get(f"/w/handbook/documents/{fence.doc_id.hex}").content.decode()
    assert '<span class="line" id="L5"><span class="k">def</span>' in page


def luminance(colour):
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    """Return the contrast by WCAG 2.2, from 1 to 21."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_each_colour_of_code_is_readable_on_each_background():
    colour = "(#[0-9a-f]{6})"
    found = {
        name: themes
        for name, *themes in re.findall(rf"--([\w-]+): light-dark\({colour}, {colour}\);", TOKENS.read_text())
    }
    codes = {name: values for name, values in found.items() if name.startswith("code-") or name == "bad"}

    assert len(codes) == 7
    for values in codes.values():
        for theme, ink in enumerate(values):
            for paper in ("bg", "raise", "cited"):
                assert contrast(ink, found[paper][theme]) >= 4.5
