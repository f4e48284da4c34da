"""Classification of the files of a code base by path: code, tests or prose."""

import re
from collections.abc import Iterable
from typing import Final

# Folder names, and the file name patterns of test frameworks.
_TEST_FOLDERS: Final = re.compile(
    r"(?:^|/)(?:tests?|testing|testsuites?|test-?utils?|test-support|testdata|test_data|testfixtures|specs?|e2e"
    r"|__tests__|__mocks__|__fixtures__|__snapshots__|fixtures|[\w.-]+[-_.]tests?)/",
    re.IGNORECASE,
)
_TEST_FILES: Final = re.compile(
    r"(?:^|/)(?:conftest\.py|tests?\.\w+|test_[^/]*|[^/]*[-_.](?:tests?|specs?|stories|e2e)\.\w+)$"
    r"|[a-z0-9](?:Tests?|TestCase|Spec|IT)\.(?:java|kt|scala|groovy|cs|swift|php)$"
)
_PROSE: Final = re.compile(r"\.(?:md|mdx|markdown|rst|txt|adoc|org|po|pot)$", re.IGNORECASE)
_ABOUT_TESTS: Final = re.compile(
    r"\b(?:test(?:s|ed|ing|cases?|suites?)?|specs?|fixtures?|snapshots?)\b", re.IGNORECASE
)
_ABOUT_PROSE: Final = re.compile(
    r"\b(?:docs?|document(?:ed|ation)|readme|change ?log|release notes?|guides?|tutorials?)\b", re.IGNORECASE
)

#: Weight of tests and of prose, relative to code, unless the query is about them.
SECONDARY_WEIGHT: Final = 0.5


def is_test(path: str) -> bool:
    """Return whether the file at `path` is a test or a test fixture."""
    return _TEST_FOLDERS.search(path) is not None or _TEST_FILES.search(path) is not None


def is_prose(path: str) -> bool:
    """Return whether the file at `path` is prose about code."""
    return _PROSE.search(path) is not None


def path_globs(patterns: Iterable[str]) -> tuple[str, ...]:
    """Return path patterns (`search.retrieval.query.glob`) for patterns in the style of a .gitignore.

    A pattern without a slash before its end matches at any depth, one with a leading slash from the root. A
    trailing slash matches everything below, and so does a name without wildcard and extension.
    """
    return tuple(dict.fromkeys(glob for pattern in patterns for glob in _expand_pattern(pattern.strip())))


def _expand_pattern(pattern: str) -> tuple[str, ...]:
    is_deep = "/" not in pattern.rstrip("/")
    bare = pattern.removeprefix("./").removeprefix("/")
    if is_deep and bare:
        bare = f"**/{bare}"
    if bare.endswith("/"):
        return (f"{bare}**",)
    is_folder = bare and not set(".*?[") & set(bare.rpartition("/")[2])
    return (bare, f"{bare}/**") if is_folder else (bare,)


def weight_of_path(path: str, query: str) -> float:
    """Return the weight of the file at `path` for `query`, in (0, 1].

    Tests use the names of what they test more often than the code itself, and manuals use the words of
    questions; but a question about an implementation wants the code.
    """
    weight = 1.0
    if is_test(path) and _ABOUT_TESTS.search(query) is None:
        weight *= SECONDARY_WEIGHT
    if is_prose(path) and _ABOUT_PROSE.search(query) is None:
        weight *= SECONDARY_WEIGHT
    return weight
