import time
from itertools import pairwise

import pytest

from ingest.parsers.markdown import plain_text
from ingest.parsers.registry import parse
from ingest.parsers.types import Block, LineSpan


def blocks_of(text: str, path: str = "a.md") -> list[Block]:
    return list(parse(text.encode(), path).outline.blocks)


def kinds_of(text: str, path: str = "a.md") -> list[tuple[str, int, int]]:
    return [(block.kind, block.span.start, block.span.end) for block in blocks_of(text, path)]


def test_every_kind_has_its_lines():
    text = (
        "# Title\n\npara\nmore\n\n- one\n- two\n\n> quote\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
        "```py\nx = 1\n```\n\n<div>\nhtml\n</div>\n\nSetext\n======\n"
    )
    assert kinds_of(text) == [
        ("heading", 1, 1),
        ("paragraph", 3, 4),
        ("list", 6, 7),
        ("quote", 9, 9),
        ("table", 11, 13),
        ("code", 15, 17),
        ("html", 19, 21),
        ("heading", 23, 24),
    ]


def test_fence_names_its_language():
    languages = [
        block.language for block in blocks_of("```C++ title=x\n1\n```\n\n~~~\n2\n~~~\n\n```{.py}\n3\n```\n")
    ]
    assert languages == ["c++", None, "py"]


def test_list_items_are_breaks():
    (block,) = blocks_of("- one\n  - inner\n- two\n\n  para\n- three\n")
    assert {2, 3, 6} <= set(block.breaks)


def test_link_definitions_stay_visible():
    assert kinds_of("text\n\n[a]: http://x.example\n") == [("paragraph", 1, 1), ("paragraph", 3, 3)]


def test_unclosed_fence_reaches_to_the_end():
    assert kinds_of("a\n\n```js\nlet x\n\n# not a heading\n") == [("paragraph", 1, 1), ("code", 3, 6)]


def test_headings_within_quotes_and_lists_are_no_boundaries():
    assert [kind for kind, _, _ in kinds_of("> # q\n\n- # l\n")] == ["quote", "list"]


@pytest.mark.parametrize(
    ("markup", "plain"),
    [
        ("Plain title", "Plain title"),
        ("`code` and **bold** _it_", "code and bold it"),
        ("[text](http://x) ![alt](y)", "text alt"),
        ("Set up {#set-up}", "Set up"),
        ("Use <kbd>Ctrl</kbd> &amp; go", "Use Ctrl & go"),
        ("snake_case_name", "snake_case_name"),
        (r"a \* b", "a * b"),
        ("<img src=x>", "<img src=x>"),
    ],
)
def test_heading_text_is_plain(markup, plain):
    assert plain_text(markup) == plain


def test_front_matter_gives_title_and_keeps_line_numbers():
    parsed = parse(b"---\ntitle: Stated\ntags: [x]\n---\n\n# Other\n\ntext\n", "a.md")
    assert (parsed.title, parsed.tags) == ("Stated", ("x",))
    assert [(b.kind, b.span.start) for b in parsed.outline.blocks] == [
        ("front_matter", 1),
        ("heading", 6),
        ("paragraph", 8),
    ]


def test_broken_front_matter_stays_text_with_a_warning():
    parsed = parse(b"---\ntitle: [x\n---\n\ntext\n", "a.md")
    assert parsed.warnings
    assert parsed.outline.blocks[0].span.start == 1


def test_mdx_hides_nothing():
    text = (
        "import Tabs from '~/Tabs.astro'\n\nexport const x = {\n  a: 1,\n}\n\n<Tabs>\n    indented text\n\n"
        "    more indented\n\n## Inside\n</Tabs>\n"
    )
    blocks = blocks_of(text, "a.mdx")
    covered = {line for b in blocks for line in range(b.span.start, b.span.end + 1)}
    assert {number for number, line in enumerate(text.splitlines(), 1) if line} <= covered
    assert "code" not in {block.kind for block in blocks}
    assert "Inside" in {block.text for block in blocks}


def test_indented_text_is_code_in_markdown_only():
    assert kinds_of("a\n\n    b\n")[1] == ("code", 3, 3)
    assert kinds_of("a\n\n    b\n", "a.mdx")[1] == ("paragraph", 3, 3)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n\n",
        "\ufeff# Title\r\n\r\ntext\rmore\n",
        "# \n\n##\n",
        "".join("  " * depth + "- item\n" for depth in range(300)),
        ">" * 2000 + " deep\n",
        "[" * 5000 + "\n",
        "# " + "*_" * 2000 + "\n",
        "|a|\n|-|\n" + "|x|\n" * 3000,
        "".join(f"# h{n}\n" for n in range(10_000)),
        "x" * 1_000_000,
        "# {#" * 100_000,
        "`" * 50_000,
        "* " * 3000 + "x\n",
    ],
    ids=lambda text: repr(text[:12]),
)
def test_hostile_markdown_is_read_whole_and_in_time(text):
    started = time.process_time()
    parsed = parse(text.encode(), "a.md")
    assert time.process_time() - started < 10
    lines = parsed.outline.lines
    covered = {n for b in parsed.outline.blocks for n in range(b.span.start, b.span.end + 1)}
    assert {n for n, line in enumerate(lines, 1) if line.strip()} <= covered


def test_blocks_never_overlap_and_follow_in_order():
    spans = [b.span for b in blocks_of("a\n***\n- b\n\n\n\n      c\n***\n| x |\n|---|\nd\n===\n")]
    assert all(earlier.end < later.start for earlier, later in pairwise(spans))
    assert LineSpan(2, 2) in spans
