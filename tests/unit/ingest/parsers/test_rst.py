"""reStructuredText: blocks with their lines, directives that are never run, errors as warnings."""

from docutils.statemachine import StringList

from ingest.parsers.markup.rst_states import Problems, outermost_nodes
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


def headings_of(text: str):
    return [(block.text, block.level) for block in outline_of(text).blocks if block.kind == "heading"]


def test_blocks_have_the_lines_of_the_file():
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
    parsed = parse(PAGE.encode(), "a.rst")
    assert list(parsed.outline.lines) == PAGE.splitlines()
    assert parsed.warnings == ()  # what docutils doesn't know is text
    assert headings_of(PAGE) == [("Guide", 1), ("Use open", 2), ("Deeper", 3)]
    breaks = {block.kind: block.breaks for block in parsed.outline.blocks if block.breaks}
    assert breaks == {"list": (25,), "table": (29, 31), "paragraph": (36, 38)}


def test_code_has_its_language():
    highlighted = "a::\n\n  x\n\n.. highlight:: c\n\nb::\n\n  y\n"
    for text, languages in ((PAGE, [None, "python", "python"]), (highlighted, [None, "c"])):
        assert [block.language for block in outline_of(text).blocks if block.kind == "code"] == languages


def test_fields_below_the_title_are_metadata():
    parsed = parse(PAGE.encode(), "a.rst")
    assert (parsed.title, parsed.tags) == ("Guide", ("one", "two"))
    assert parsed.metadata == {"tags": "one, two", "author": "the harbour office"}
    assert parse(b":title: Stated\n\nGuide\n=====\n\ntext\n", "a.rst").title == "Stated"


def test_no_directive_is_run(tmp_path, subtests):
    secret = tmp_path / "secret.txt"
    secret.write_text("secret,words\n")
    tables = (f"csv-table::\n   :file: {secret}", f"csv-table::\n   :url: file://{secret}")
    files = (f"include:: {secret}", f"literalinclude:: {secret}", f"figure:: {secret}")
    for directive in (*files, *tables, f"raw:: html\n   :file: {secret}"):
        with subtests.test(directive=directive):
            parsed = parse(f"Title\n=====\n\n.. {directive}\n".encode(), "a.rst")
            assert (parsed.parser, parsed.warnings) == ("rst", ())
            assert "words" not in "".join(parsed.outline.lines)


def test_errors_are_warnings_and_their_lines_stay():
    parsed = parse(b"Title\n=====\n\n=== ===\na   b\n1   2\n\nend\n", "a.rst")
    (warning,) = parsed.warnings
    assert (parsed.parser, "line 4" in warning) == ("rst", True)
    covered = [n for block in parsed.outline.blocks for n in range(block.span.start, block.span.end + 1)]
    assert {4, 5, 6, 8} <= set(covered)
    table = "====  ====\na     b\n====  ====\nc     d\n"
    deeper = parse(f"Words.\n\n{table}\nMore words, 部署.\n".encode(), "a.rst")
    assert (deeper.parser, len(deeper.warnings)) == ("rst", 1)


def test_skipped_heading_level_is_still_a_heading():
    text = "A\n=\n\nB\n-\n\nC\n~\n\nD\n=\n\nE\n~\n\nend\n"
    assert headings_of(text) == [("A", 1), ("B", 2), ("C", 3), ("D", 1), ("E", 3)]


def test_separators_of_unicode_do_not_shift_the_lines():
    text = "one\u2028still\x0cone\x85too\n\nTitle\n=====\n\nend\n"
    assert kinds_and_spans(text) == [("paragraph", 1, 1), ("heading", 3, 4), ("paragraph", 6, 6)]


def test_odd_files_are_read():
    for text in ("", "..", "\\", "`", "|", "=" * 50, ".. ", ":a:", "a\n=\n" * 300, "* " * 200):
        assert parse(text.encode(), "a.rst").parser == "rst", text[:20]


def test_many_lists_do_not_copy_the_rest_of_the_text(monkeypatch):
    text = [line for n in range(400) for line in (f"Term {n}", "  Its definition.", "", "Words.", "")]
    copied = []
    make = StringList.__init__

    def note(self, initlist=None, *args, **options):
        copied.append(len(initlist or ()))
        make(self, initlist, *args, **options)

    monkeypatch.setattr(StringList, "__init__", note)
    found = outermost_nodes(text, Problems())
    assert [node.line for node in found] == [n for at in range(400) for n in (5 * at + 1, 5 * at + 4)]
    assert sum(copied) < 4 * len(text)
