"""Ignore rules: examples of gitignore(5), checked against git where it is installed."""

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.connectors.ignore import IgnoreRules


def verdict(rules: str, path: str, *, is_directory: bool = False) -> bool | None:
    return IgnoreRules(rules).verdict(path, is_directory=is_directory)


#: pairs of rules and a path
IGNORED = """*.log a/b.log, /top top, doc/frotz doc/frotz, **/foo foo, **/foo a/b/foo, **/foo/bar a/foo/bar,
    abc/** abc/d/e, a/**/b a/b, a/**/b a/x/y/b, a/**/**/b/**/c* a/x/b/y/b/z/cd, **/b/c/**/d b/x/b/c/d,
    foo/* foo/test.json, \\#file #file, \\!file !file, a?c abc, [a-c].txt b.txt, [^a-c].txt d.txt,
    [[:digit:]].txt 5.txt, []-]x ]x, [z-a] z, [--/]x -x, [a-\\c]x bx, [/a] a, * .hidden, \ufeff*.log x.log,
    a*b*c aXbYbZc, *ab aab, foo**bar fooXbar, Größe* Größe.md"""
UNTOUCHED = """*.log a/b.txt, /top a/top, doc/frotz a/doc/frotz, abc/** abc, foo/* foo/bar/hello.c, a?c a/c,
    [!a-c].txt b.txt, [abc [abc, [z-a] b, [[:word:]] w, [] ], a[/]b a/b, [/a] x/a, foo\\ foo\\, a*b*c aXbYbZ,
    / x, a.b axb"""
#: rules with spaces or several lines
OTHERS = [
    ("*.log\n!keep.log", "a/keep.log", False),
    ("!keep.log\n*.log", "keep.log", True),
    ("# comment", "# comment", None),
    ("trail   ", "trail", True),
    ("trail\\ ", "trail ", True),
    ("*.log\r", "x.log", True),
    ("", "x", None),
]


def test_ignore_rules_match_the_examples_of_the_git_manual(subtests):
    examples = [(*pair.split(), True) for pair in IGNORED.split(",")]
    examples += [(*pair.split(), None) for pair in UNTOUCHED.split(",")]
    for rules, path, expected in examples + OTHERS:
        with subtests.test(rules=rules, path=path):
            assert verdict(rules, path) is expected


def test_trailing_slash_matches_directories_only():
    assert verdict("frotz/", "a/frotz", is_directory=True) is True
    assert verdict("frotz/", "a/frotz") is None


def test_pattern_with_many_stars_matches_in_bounded_time():
    # Exponential time would never end.
    assert verdict("*a" * 300 + "b", "a" * 4_000) is None
    assert verdict("**/a/" * 100 + "x", "a/" * 1_000 + "y") is None


GLOB = st.text("ab*?[]!-/\\#. ", min_size=1, max_size=8).filter(lambda glob: "\n" not in glob)
_PATHS = "a|b|ab|a.b|aab|a-b|b!|#a|a b|x/a|x/ab|x/a.b|a1/b|x/y/a|x/y/b.a"
PATHS = _PATHS.split("|")
GIT = shutil.which("git")


@pytest.mark.skipif(GIT is None, reason="git is the judge here, and is not installed")
def test_rules_agree_with_git(tmp_path):
    subprocess.run([GIT, "init", "-q", str(tmp_path)], check=True)
    for path in PATHS:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")

    @settings(max_examples=40)
    @given(globs=st.lists(GLOB, min_size=1, max_size=3))
    def agrees(globs):
        text = "\n".join(globs) + "\n"
        (tmp_path / ".gitignore").write_text(text)
        command = [GIT, "-C", str(tmp_path), "ls-files", "--others", "--exclude-standard", "-z"]
        listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        expected = set(listed.split("\0")) - {"", ".gitignore"}
        assert {path for path in PATHS if not _is_hidden(text, path)} == expected, text

    agrees()


def _is_hidden(text: str, path: str) -> bool:
    """Return whether the rules exclude the path or a directory above it, as a walk does."""
    rules = IgnoreRules(text)
    parts = path.split("/")
    above = ("/".join(parts[:depth]) for depth in range(1, len(parts)))
    return any(rules.verdict(folder, is_directory=True) for folder in above) or bool(
        rules.verdict(path, is_directory=False)
    )
