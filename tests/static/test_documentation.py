"""Links, anchors and paths of code in the documentation lead to what exists."""

import re
from collections import Counter
from functools import cache

from tests.support.page_blocks import FOLLOWED_PAGES, blocks_of, has_known_language
from tests.support.paths import ROOT

# Documents to search in, whose links are part of the test data.
_TEST_DATA = (ROOT / "docs" / "evaluation" / "handbook" / "files", ROOT / "tests" / "files" / "markdown")
PAGES = sorted(
    page
    for folder, pattern in (
        (".", "*.md"),
        ("docs", "**/*.md"),
        ("tests", "**/README.md"),
        ("clients", "**/*.md"),
    )
    for page in (ROOT / folder).glob(pattern)
    if not any(page.is_relative_to(data) for data in _TEST_DATA)
)
_FENCE = re.compile(r"^ *(`{3,}).*?^ *\1", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?![a-z]+:)([^)#\s]*)#?([^)\s]*)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_INDENTED_COMMAND = re.compile(r"^ {4}(?:\$ |kebab |sudo |export ).*", re.MULTILINE)
_LEAST_SHARE = 0.85
_CODE_PATH = re.compile(r"`((?:kebab|search|ingest|deploy|tests|clients)/[\w./-]+)`")


def text_of(page):
    """Return the text of a page without its blocks of code."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


@cache
def anchors_of(page):
    """Return the anchors of a page's headings as GitHub derives them: a repeated one has a number."""
    seen, anchors = Counter(), set()
    for heading in _HEADING.findall(text_of(page)):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", shown.lower()).strip().replace(" ", "-")
        anchors.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
        seen[anchor] += 1
    return anchors


def test_links_lead_to_files_and_headings(subtests):
    for page in PAGES:
        with subtests.test(page=str(page.relative_to(ROOT))):
            assert broken_links_of(page) == []


def broken_links_of(page):
    broken = []
    for path, anchor in _LINK.findall(text_of(page)):
        target = (page.parent / path).resolve() if path else page
        is_heading = not anchor or target.suffix != ".md" or anchor in anchors_of(target)
        if not target.exists() or not is_heading:
            broken.append(f"{path}#{anchor}")
    return broken


def test_named_paths_of_code_exist(subtests):
    for page in PAGES:
        # The change log names the paths of its time.
        if page.name != "CHANGELOG.md":
            with subtests.test(page=str(page.relative_to(ROOT))):
                named = _CODE_PATH.findall(text_of(page))
                assert [path for path in named if not (ROOT / path).exists()] == []


def test_most_blocks_of_followed_pages_are_run_and_the_others_say_why_not():
    blocks = {page: blocks_of(page) for page in FOLLOWED_PAGES}
    assert [page for page in FOLLOWED_PAGES if not blocks[page]] == []
    everything = [block for page in FOLLOWED_PAGES for block in blocks[page]]
    assert [block.place for block in everything if not has_known_language(block)] == []
    uses = Counter(block.use for block in everything)
    assert uses["run"] >= _LEAST_SHARE * len(everything), uses


def test_commands_of_followed_pages_are_in_fenced_blocks():
    indented = {page.name: _INDENTED_COMMAND.findall(text_of(page)) for page in FOLLOWED_PAGES}
    assert {name: found for name, found in indented.items() if found} == {}


def test_every_followed_page_is_named_by_a_test():
    tests = "".join(path.read_text() for path in (ROOT / "tests" / "acceptance").glob("d*/test_*.py"))
    assert [page.name for page in FOLLOWED_PAGES if f'"{page.name}"' not in tests] == []
