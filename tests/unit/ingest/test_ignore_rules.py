"""Examples of gitignore(5), and git itself as the judge where it is installed."""

import shutil
import subprocess
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.connectors.ignore import IgnoreRules


def is_ignored(rules: str, path: str, *, is_directory: bool = False) -> bool | None:
    return IgnoreRules(rules).verdict(path, is_directory=is_directory)


@pytest.mark.parametrize(
    ("rules", "path", "verdict"),
    [
        ("*.log", "a/b.log", True),
        ("*.log", "a/b.txt", None),
        ("*.log\n!keep.log", "a/keep.log", False),
        ("!keep.log\n*.log", "keep.log", True),
        ("/top", "top", True),
        ("/top", "a/top", None),
        ("doc/frotz", "doc/frotz", True),
        ("doc/frotz", "a/doc/frotz", None),
        ("**/foo", "foo", True),
        ("**/foo", "a/b/foo", True),
        ("**/foo/bar", "a/foo/bar", True),
        ("abc/**", "abc/d/e", True),
        ("abc/**", "abc", None),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a/**/**/b/**/c*", "a/x/b/y/b/z/cd", True),
        ("**/b/c/**/d", "b/x/b/c/d", True),
        ("foo/*", "foo/test.json", True),
        ("foo/*", "foo/bar/hello.c", None),
        ("# comment", "# comment", None),
        (r"\#file", "#file", True),
        (r"\!file", "!file", True),
        ("trail   ", "trail", True),
        (r"trail\ ", "trail ", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", None),
        ("[a-c].txt", "b.txt", True),
        ("[!a-c].txt", "b.txt", None),
        ("[^a-c].txt", "d.txt", True),
        ("[[:digit:]].txt", "5.txt", True),
        ("[]-]x", "]x", True),
        ("[abc", "[abc", None),
        ("[z-a]", "b", None),
        ("[z-a]", "z", True),
        ("[--/]x", "-x", True),
        ("[a-\\c]x", "bx", True),
        ("[[:word:]]", "w", None),
        ("[]", "]", None),
        ("a[/]b", "a/b", None),
        ("[/a]", "a", True),
        ("[/a]", "x/a", None),
        ("foo\\", "foo\\", None),
        ("*", ".hidden", True),
        ("\ufeff*.log", "x.log", True),
        ("*.log\r", "x.log", True),
        ("a*b*c", "aXbYbZc", True),
        ("a*b*c", "aXbYbZ", None),
        ("*ab", "aab", True),
        ("foo**bar", "fooXbar", True),
        ("", "x", None),
        ("/", "x", None),
        ("a.b", "axb", None),
        ("Größe*", "Größe.md", True),
    ],
)
def test_manual_examples(rules, path, verdict):
    assert is_ignored(rules, path) is verdict


def test_trailing_slash_matches_directories_only():
    assert is_ignored("frotz/", "a/frotz", is_directory=True) is True
    assert is_ignored("frotz/", "a/frotz") is None


def test_stars_take_linear_time():
    started = time.process_time()
    assert is_ignored("*a" * 300 + "b", "a" * 4_000) is None
    assert is_ignored("**/a/" * 100 + "x", "a/" * 1_000 + "y") is None
    assert time.process_time() - started < 5


GLOB = st.text("ab*?[]!-/\\#. ", min_size=1, max_size=8).filter(lambda glob: "\n" not in glob)
PATHS = [
    "a",
    "b",
    "ab",
    "a.b",
    "aab",
    "a-b",
    "b!",
    "#a",
    "a b",
    "x/a",
    "x/ab",
    "x/a.b",
    "a1/b",
    "x/y/a",
    "x/y/b.a",
]


GIT = shutil.which("git")


@pytest.mark.skipif(GIT is None, reason="git is the judge here, and is not installed")
def test_git_agrees(tmp_path):
    subprocess.run([GIT, "init", "-q", str(tmp_path)], check=True)
    for path in PATHS:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")

    @settings(max_examples=120, deadline=None)
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
    """Whether the rules hide the path or a directory above it, as a walk would find."""
    rules = IgnoreRules(text)
    parts = path.split("/")
    for depth in range(1, len(parts)):
        if rules.verdict("/".join(parts[:depth]), is_directory=True):
            return True
    return bool(rules.verdict(path, is_directory=False))
