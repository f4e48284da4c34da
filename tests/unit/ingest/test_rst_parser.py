import pytest

from ingest.parsers.registry import parse

PAGE = """\
=====
Guide
=====

:tags: one, two
:author: the harbour office

See :ref:`the other page <other>` and :custom:`this`.

Run it::

   $ run --fast

.. code-block:: Python

   def run():
       pass

Use :py:func:`~harbour.lock.open`
=================================

- first

  still first
- second

.. list-table::

   * - a
     - b
   * - c
     - d

.. harbour:unheard-of:: with words

   A paragraph.

   Another one.

Deeper
------

>>> 1 + 1
2
"""


def outline_of(text: str):
    return parse(text.encode(), "a.rst").outline


def kinds_and_spans(text: str):
    return [(block.kind, block.span.start, block.span.end) for block in outline_of(text).blocks]


def test_blocks_have_the_files_own_lines():
    assert kinds_and_spans(PAGE) == [
        ("heading", 1, 3),
        ("list", 5, 6),
        ("paragraph", 8, 8),
        ("paragraph", 10, 10),
        ("code", 12, 12),
        ("code", 14, 17),
        ("heading", 19, 20),
        ("list", 22, 25),
        ("table", 27, 32),
        ("paragraph", 34, 38),
        ("heading", 40, 41),
        ("code", 43, 44),
    ]
    assert list(outline_of(PAGE).lines) == PAGE.splitlines()


def test_headings_are_plain_text_with_levels():
    headings = [block for block in outline_of(PAGE).blocks if block.kind == "heading"]
    assert [(block.level, block.text) for block in headings] == [(1, "Guide"), (2, "Use open"), (3, "Deeper")]


def test_code_has_its_language():
    assert [block.language for block in outline_of(PAGE).blocks if block.kind == "code"] == [
        *[None, "python", "python"]
    ]


def test_the_language_set_by_a_highlight_directive_holds_below_it():
    blocks = outline_of("a::\n\n  x\n\n.. highlight:: c\n\nb::\n\n  y\n").blocks
    assert [block.language for block in blocks if block.kind == "code"] == [None, "c"]


def test_long_blocks_can_be_cut_at_items_rows_and_paragraphs():
    by_kind = {block.kind: block.breaks for block in outline_of(PAGE).blocks if block.breaks}
    assert by_kind == {"list": (25,), "table": (29, 31), "paragraph": (36, 38)}


def test_fields_below_the_title_are_metadata():
    parsed = parse(PAGE.encode(), "a.rst")
    assert (parsed.title, parsed.tags) == ("Guide", ("one", "two"))
    assert parsed.metadata == {"tags": "one, two", "author": "the harbour office"}


def test_a_stated_title_goes_before_the_heading():
    assert parse(b":title: Stated\n\nGuide\n=====\n\ntext\n", "a.rst").title == "Stated"


@pytest.mark.parametrize(
    "directive",
    [
        "include:: {path}",
        "literalinclude:: {path}",
        "raw:: html\n   :file: {path}",
        "csv-table::\n   :file: {path}",
        "csv-table::\n   :url: file://{path}",
        "figure:: {path}",
    ],
)
def test_no_directive_is_run(tmp_path, directive):
    secret = tmp_path / "secret.txt"
    secret.write_text("secret,words\n")
    parsed = parse(f"Title\n=====\n\n.. {directive.format(path=secret)}\n".encode(), "a.rst")
    assert (parsed.parser, parsed.warnings) == ("rst", ())
    assert "words" not in "".join(parsed.outline.lines)


def test_what_docutils_does_not_know_is_text_without_a_warning():
    parsed = parse(PAGE.encode(), "a.rst")
    assert parsed.warnings == ()
    assert parsed.outline.lines[7] == "See :ref:`the other page <other>` and :custom:`this`."


def test_errors_are_warnings_and_their_lines_stay():
    parsed = parse(b"Title\n=====\n\n=== ===\na   b\n1   2\n\nend\n", "a.rst")
    assert parsed.parser == "rst"
    assert parsed.warnings == ("line 4: Malformed table.",)
    covered = [n for block in parsed.outline.blocks for n in range(block.span.start, block.span.end + 1)]
    assert {4, 5, 6, 8} <= set(covered)


def test_a_level_that_was_skipped_is_still_a_heading():
    text = "A\n=\n\nB\n-\n\nC\n~\n\nD\n=\n\nE\n~\n\nend\n"
    headings = [(b.text, b.level) for b in outline_of(text).blocks if b.kind == "heading"]
    assert headings == [("A", 1), ("B", 2), ("C", 3), ("D", 1), ("E", 3)]


def test_separators_of_unicode_do_not_shift_the_lines():
    text = "one\u2028still\x0cone\x85too\n\nTitle\n=====\n\nend\n"
    assert kinds_and_spans(text) == [("paragraph", 1, 1), ("heading", 3, 4), ("paragraph", 6, 6)]


@pytest.mark.parametrize(
    "text", ["", "..", "\\", "`", "|", "=" * 50, ".. ", ":a:", "a\n=\n" * 300, "* " * 200]
)
def test_odd_files_are_read(text):
    assert parse(text.encode(), "a.rst").parser == "rst"
