"""Path patterns follow the manual, in Python and in SQL, in bounded time."""

import re
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.retrieval.errors import InvalidGlob
from search.retrieval.query.glob import (
    MAX_PATTERN_CHARS,
    AnyOne,
    AnyRun,
    Literal,
    compile_glob,
    compile_part,
    parse_names,
)


def test_pattern_fits_the_paths_of_the_manual(subtests):
    cases = [
        (
            "notes/*.md",
            ["notes/a.md", "notes/.md"],
            ["notes/a/b.md", "x/notes/a.md", "notes/a.mdx", "Notes/a.md"],
        ),
        ("a?c", ["abc", "a部c"], ["a/c", "ac", "abbc"]), ("[a-c]x", ["ax", "cx"], ["dx", "Ax", "x"]),
        ("[!a-c]x", ["dx", "-x"], ["ax", "/x", "x"]), ("[^a]x", ["bx", "^x"], ["ax", "/x"]),
        ("a[+-9]b", ["a+b", "a.b", "a5b"], ["a/b"]), ("a[/x]b", ["axb"], ["a/b"]),
        ("[]]x", ["]x"], ["x", "[x"]), ("[!]]x", ["ax"], ["]x"]), ("[a-]x", ["-x", "ax"], ["bx"]),
        ("[\\d]x", ["\\x", "dx"], ["5x"]), ("[[]x]", ["[x]"], ["[]x]"]),
        ("**/a.md", ["a.md", "x/a.md", "x/y/a.md"], ["xa.md", "a.md/b"]),
        ("docs/**/a.md", ["docs/a.md", "docs/x/y/a.md"], ["docsa.md", "docs/xa.md", "a.md"]),
        ("docs/**", ["docs/a", "docs/a/b.md"], ["docs", "docs/", "docsx/a", "x/docs/a"]),
        ("**", ["a", "a/b/c"], [""]), ("**/**/a", ["a", "x/y/a"], ["xa"]),
        ("a/**/**", ["a/b", "a/b/c"], ["a"]), ("a**b", ["ab", "axxb"], ["a/b"]),
        ("**.md", ["a.md"], ["x/a.md"]), ("a**/b", ["ax/b"], ["ax/y/b", "b"]),
        ("{a,b}.md", ["{a,b}.md"], ["a.md", "b.md"]), ("a.b+(c)$^|\\", ["a.b+(c)$^|\\"], ["axb+(c)$^|\\"]),
        ("a b/é.md", ["a b/é.md"], ["ab/é.md"]),
        ("**/x/**/y/*.md", ["x/y/a.md", "q/x/r/s/y/a.md", "x/x/y/y/a.md"], ["x/a.md", "y/x/a.md"]),
        ("**/a/b/**/a/c", ["a/b/a/c", "a/a/b/z/a/b/a/c"], ["a/b/c", "a/b"]), ("*", ["a"], ["a/b"]),
        ("*a*a", ["aa", "baxa"], ["a", "a/a"]),
    ]  # fmt: skip
    for pattern, fitting, other in cases:
        with subtests.test(pattern=pattern):
            glob = compile_glob(pattern)
            assert [path for path in fitting if not glob.matches(path)] == []
            assert [path for path in other if glob.matches(path)] == []
    assert compile_glob("e\u0301*").matches("\u00e9t\u00e9")


def test_malformed_and_hostile_patterns(subtests):
    cases = [
        "notes/[abc", "[", "[]", "[!]", "[^]", "a[z-a]", "[/]", "", "a\x00b", "a\ud800", "x" * 513,
    ]  # fmt: skip
    for pattern in cases:
        with subtests.test(pattern=pattern), pytest.raises(InvalidGlob):
            compile_glob(pattern)
    with pytest.raises(InvalidGlob, match=r"'\[' at 7 of 'notes/\[abc' has no '\]'; add one"):
        compile_glob("notes/[abc")
    cases = [
        ("*a" * 170 + "b", "a" * 50_000), ("*a" * 100 + "/b", "a" * 20_000 + "/c"),
        ("**/a/" * 100 + "b", "a/" * 5_000 + "c"), ("**/*a*a/" * 60 + "b", "aaaa/" * 1_000 + "c"),
        ("**/" * 170, "a/" * 10_000 + "a"),
    ]  # fmt: skip
    for pattern, path in cases:
        with subtests.test(pattern=pattern):
            assert len(pattern) <= MAX_PATTERN_CHARS
            assert not compile_glob(pattern).matches(path)


def test_sql_expression_avoids_look_around():
    assert compile_glob("docs/**/[!a]?*.md").sql_regex == (
        r"^(?:docs/)(?:[^/]+/)*(?:[^\U00000061\U0000002f][^/][^/]*\.md)$"
    )


PARTS = st.sampled_from(["a", "b", "/", "*", "?", "**", "**/", "/**", "[ab]", "[!a]", "a/", "."])
PATTERNS = st.lists(PARTS, min_size=1, max_size=8).map("".join)
PATHS = st.lists(st.text("ab.", min_size=1, max_size=4), min_size=1, max_size=5).map("/".join)


def reference_match(pattern, path):
    """Match path segments one by one, as the definition says, without a regular expression."""
    names, parts = parse_names(pattern), path.split("/")

    @cache
    def fits(i, j):
        if i == len(names):
            return j == len(parts)
        if names[i] is None:
            below = range(j + 1, len(parts) + 1) if i == len(names) - 1 else range(j, len(parts))
            return any(fits(i + 1, after) for after in below)
        return j < len(parts) and name_fits(names[i], parts[j]) and fits(i + 1, j + 1)

    return fits(0, 0)


def name_fits(parts, name):
    if not parts:
        return not name
    first, *rest = parts
    if isinstance(first, AnyRun):
        return any(name_fits(rest, name[skipped:]) for skipped in range(len(name) + 1))
    if isinstance(first, Literal):
        return name.startswith(first.text) and name_fits(rest, name[len(first.text) :])
    one_fits = bool(name) and (isinstance(first, AnyOne) or re.fullmatch(first.bracket, name[0]))
    return bool(one_fits) and name_fits(rest, name[1:])


@given(PATTERNS, PATHS)
def test_matching_and_sql_agree_with_the_definition(pattern, path):
    glob = compile_glob(pattern)
    fits = glob.matches(path)
    assert fits == reference_match(pattern, path) == (re.search(glob.sql_regex, path) is not None)


@pytest.mark.parametrize("part", ["a/b", "x.md", "(a+b)|$", "é"])
def test_part_of_a_path_fits_every_path_that_has_it(part):
    glob = compile_part(part)
    for path in (part, f"a\n/{part}", f"{part}/c", f"q{part}q", "other", part[1:]):
        fits = part in path
        assert (glob.matches(path), re.search(glob.sql_regex, path) is not None) == (fits, fits)


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_is_a_pattern_or_is_refused(pattern, path):
    try:
        compile_glob(pattern).matches(path)
    except InvalidGlob as error:
        assert error.code == "invalid_glob" and error.status == 400
