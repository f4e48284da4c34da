"""Plain English in docstrings, names, messages and commit subjects; CONTRIBUTING.md has the rules."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import ROOT

PACKAGES = ("kebab", "search", "ingest")
#: From here on commit subjects are held to the rules.
_FIRST_COMMIT = "95dde9a"
_MAX_SUBJECT_CHARS = 72
_OPENING = re.compile(r"(Give|Gives|Have|What|How|Which|Whether|Where|Who|Whose|Why|Say|Says)\b")
#: Nouns of the field, or no gerunds at all.
_NOUNS = {
    "chunking",
    "draining",
    "embedding",
    "file_ranking",
    "formatting",
    "listing",
    "packing",
    "ranking",
    "smoothing",
    "spelling",
    "tracing",
    "wiring",
}
_NOT_IMPERATIVE = re.compile(
    r"(the|a|an|what|how|which|whether|where|who|no|\w+ing|\w+ed)\b|\w+(?<!s)s\b", re.I
)
#: Constructions to read twice: write "is not a", "lacks", "contains no", or name the noun again.
_PUZZLING = re.compile(
    r"(?<!there )\b(?:is|are|was|were|has|have|had|takes?) no (?!longer\b|more\b)[a-z]"
    r"|\b(?:that|those) of\b",
    re.I,
)
#: Verbs that look like something else.
_IMPERATIVE = {"Bring", "Embed", "Feed", "Seed", "Need", "Exceed", "Speed", "Process", "Focus", "Bypass"}


def product_files() -> list[Path]:
    files = (file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))
    return [file for file in files if file.parent.name != "migrations"]


def source_files_of_tests() -> list[Path]:
    files = (ROOT / "tests").rglob("*.py")
    return [file for file in files if not file.is_relative_to(ROOT / "tests" / "files")]


def documented_nodes(
    tree: ast.Module,
) -> Iterator[ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the nodes that may have a docstring."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    yield from (node for node in ast.walk(tree) if isinstance(node, documented))


def puzzling_docstrings(source: str) -> Iterator[str]:
    """Yield the first line of each docstring that opens as a question, or with Give, Have or Say."""
    if not re.search(r'"""\s*' + _OPENING.pattern, source):
        return  # most files, which need no parsing
    for node in documented_nodes(ast.parse(source)):
        docstring = ast.get_docstring(node)
        if docstring and _OPENING.match(docstring):
            yield docstring.splitlines()[0]


def puzzling_names(source: str) -> Iterator[str]:
    """Yield the names of functions and classes that are puzzles."""
    names = re.findall(r"^ *(?:async )?(?:def|class) (\w+)", source, re.M)
    yield from (name for name in names if _PUZZLING.search(name.replace("_", " ")))


def puzzling_texts(source: str) -> Iterator[str]:
    """Yield the string constants that are puzzles, but for docstrings."""
    if not _PUZZLING.search(source):
        return
    tree = ast.parse(source)
    docstrings = {id(node.body[0].value) for node in documented_nodes(tree) if ast.get_docstring(node)}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in docstrings and _PUZZLING.search(text):
                yield text


def is_gerund(name: str) -> bool:
    return name.endswith("ing") and name not in _NOUNS


def is_imperative(subject: str) -> bool:
    word = subject.partition(" ")[0]
    return word in _IMPERATIVE or (word[:1].isupper() and not _NOT_IMPERATIVE.match(word))


def test_docstrings_begin_with_a_verb_or_a_noun():
    found = [
        f"{file.relative_to(ROOT)}: {line}"
        for file in [*product_files(), *source_files_of_tests()]
        for line in puzzling_docstrings(file.read_text())
    ]
    assert found == []


def test_names_need_no_second_reading():
    found = [
        f"{file.relative_to(ROOT)}: {name}"
        for file in [*product_files(), *source_files_of_tests()]
        for name in puzzling_names(file.read_text())
    ]
    assert found == []


def test_messages_and_metric_help_need_no_second_reading():
    found = [
        f"{file.relative_to(ROOT)}: {text}"
        for file in product_files()
        for text in puzzling_texts(file.read_text())
    ]
    templates = (file for package in PACKAGES for file in (ROOT / package).rglob("*.html"))
    found += [str(file.relative_to(ROOT)) for file in templates if _PUZZLING.search(file.read_text())]
    assert found == []


def test_modules_are_nouns():
    names = {file.parent.name if file.stem == "__init__" else file.stem for file in product_files()}
    assert sorted(filter(is_gerund, names)) == []


def test_commit_subjects_are_short_and_imperative():
    command = ["git", "-C", str(ROOT), "log", "--no-merges", "--format=%s", f"{_FIRST_COMMIT}..HEAD"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip("the history is not in this copy; run: git fetch --unshallow")
    wrong = [
        subject
        for subject in found.stdout.splitlines()
        if len(subject) > _MAX_SUBJECT_CHARS or not is_imperative(subject)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("subject", "verdict"),
    [
        ("Fix double close of a lock file", True),
        ("Process jobs in order", True),
        ("Pass filters on", True),
        ("Fixed a lock file", False),
        ("Fixes a lock file", False),
        ("The lock file is closed once", False),
        ("What a lock file is", False),
        ("Closing lock files", False),
        ("fix a lock file", False),
    ],
)
def test_imperative_subjects_are_recognised(subject, verdict):
    assert is_imperative(subject) is verdict


def test_a_puzzling_docstring_is_found():
    assert list(puzzling_docstrings('def f():\n    """Give the sum."""\n')) == ["Give the sum."]
    assert list(puzzling_docstrings('"""Whose turn it is."""\n')) == ["Whose turn it is."]
    assert list(puzzling_docstrings('"""The fair queue."""\n')) == []


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("'x' is no port; set KEBAB_PORT", True),
        ("This source takes no uploads", True),
        ("The set has no topic", True),
        ("Its text is also that of chunk 7", True),
        ("Members read those of their groups", True),
        ("There is no workspace 'x'", False),
        ("The result is no longer available", False),
        ("The set contains no topic", False),
    ],
)
def test_puzzling_names_and_messages_are_found(text, verdict):
    name = re.sub(r"\W+", "_", text).strip("_").lower()
    assert list(puzzling_texts(f"raise Error({text!r})")) == [text] * verdict
    assert list(puzzling_names(f"def {name}(): ...")) == [name] * verdict
    assert list(puzzling_texts(f'def f():\n    """Return {text}."""')) == []
