"""Markdown and MDX: blocks with their lines, plain headings, hostile files."""

from itertools import pairwise

from ingest.parsers.markup.markdown import plain_text
from ingest.parsers.registry import parse
from ingest.parsers.types import Block, LineSpan


def blocks_of(text: str, path: str = "a.md") -> list[Block]:
    return list(parse(text.encode(), path).outline.blocks)


def kinds_of(text: str, path: str = "a.md") -> list[tuple[str, int, int]]:
    return [(block.kind, block.span.start, block.span.end) for block in blocks_of(text, path)]


def uncovered_lines(text: str, path: str = "a.md") -> set[str]:
    """Return the lines with text that no block covers."""
    outline = parse(text.encode(), path).outline
    covered = {n for b in outline.blocks for n in range(b.span.start, b.span.end + 1)}
    return {line for n, line in enumerate(outline.lines, 1) if line.strip() and n not in covered}


def test_every_kind_has_its_lines(subtests):
    every_kind = (
        "# Title\n\npara\nmore\n\n- one\n- two\n\n> quote\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
        "```py\nx = 1\n```\n\n<div>\nhtml\n</div>\n\nSetext\n======\n"
    )
    assert kinds_of(every_kind) == [
        ("heading", 1, 1),
        ("paragraph", 3, 4),
        ("list", 6, 7),
        ("quote", 9, 9),
        ("table", 11, 13),
        ("code", 15, 17),
        ("html", 19, 21),
        ("heading", 23, 24),
    ]
    for text, path, kinds in [
        ("text\n\n[a]: http://x.example\n", "a.md", [("paragraph", 1, 1), ("paragraph", 3, 3)]),
        ("a\n\n```js\nlet x\n\n# not a heading\n", "a.md", [("paragraph", 1, 1), ("code", 3, 6)]),
        ("> # q\n\n- # l\n", "a.md", [("quote", 1, 1), ("list", 3, 3)]),
        ("a\n\n    b\n", "a.md", [("paragraph", 1, 1), ("code", 3, 3)]),
        ("a\n\n    b\n", "a.mdx", [("paragraph", 1, 1), ("paragraph", 3, 3)]),
    ]:
        with subtests.test(case=text, path=path):
            assert kinds_of(text, path) == kinds


def test_fence_names_its_language_and_list_items_are_breaks():
    blocks = blocks_of("```C++ title=x\n1\n```\n\n~~~\n2\n~~~\n\n```{.py}\n3\n```\n")
    assert [block.language for block in blocks] == ["c++", None, "py"]
    (block,) = blocks_of("- one\n  - inner\n- two\n\n  para\n- three\n")
    assert {2, 3, 6} <= set(block.breaks)


def test_heading_text_is_plain(subtests):
    for markup, plain in [
        ("Plain title", "Plain title"),
        ("`code` and **bold** _it_", "code and bold it"),
        ("[text](http://x) ![alt](y)", "text alt"),
        ("Set up {#set-up}", "Set up"),
        ("Use <kbd>Ctrl</kbd> &amp; go", "Use Ctrl & go"),
        ("snake_case_name", "snake_case_name"),
        (r"a \* b", "a * b"),
        ("<img src=x>", "<img src=x>"),
    ]:
        with subtests.test(case=markup):
            assert plain_text(markup) == plain


def test_front_matter_gives_title_and_keeps_line_numbers():
    parsed = parse(b"---\ntitle: Stated\ntags: [x]\n---\n\n# Other\n\ntext\n", "a.md")
    assert (parsed.title, parsed.tags) == ("Stated", ("x",))
    places = [(block.kind, block.span.start) for block in parsed.outline.blocks]
    assert places == [("front_matter", 1), ("heading", 6), ("paragraph", 8)]
    broken = parse(b"---\ntitle: [x\n---\n\ntext\n", "a.md")
    assert broken.warnings
    assert broken.outline.blocks[0].span.start == 1


def test_mdx_hides_nothing():
    text = (
        "import Tabs from '~/Tabs.astro'\n\nexport const x = {\n  a: 1,\n}\n\n<Tabs>\n    indented text\n\n"
        "    more indented\n\n## Inside\n</Tabs>\n"
    )
    assert uncovered_lines(text, "a.mdx") == set()
    blocks = blocks_of(text, "a.mdx")
    assert "code" not in {block.kind for block in blocks}
    assert "Inside" in {block.text for block in blocks}


def test_hostile_markdown_is_read_whole(subtests):
    # In quadratic time the largest would take minutes.
    for text in [
        *("", "\n\n\n", "\ufeff# Title\r\n\r\ntext\rmore\n", "# \n\n##\n", ">" * 2000 + " deep\n"),
        "".join("  " * depth + "- item\n" for depth in range(100)),
        *("[" * 5000 + "\n", "# " + "*_" * 2000 + "\n", "|a|\n|-|\n" + "|x|\n" * 1000, "x" * 1_000_000),
        "".join(f"# h{n}\n" for n in range(2_000)),
        *("# {#" * 30_000, "`" * 50_000, "* " * 1000 + "x\n"),
    ]:
        with subtests.test(case=text[:12]):
            assert uncovered_lines(text) == set()


def test_blocks_never_overlap_and_follow_in_order():
    spans = [b.span for b in blocks_of("a\n***\n- b\n\n\n\n      c\n***\n| x |\n|---|\nd\n===\n")]
    assert all(earlier.end < later.start for earlier, later in pairwise(spans))
    assert LineSpan(2, 2) in spans
