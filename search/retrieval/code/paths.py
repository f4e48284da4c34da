"""What a path says of a file in a code base: whether it holds the code itself, or what stands beside it."""

import re
from collections.abc import Iterable
from typing import Final

# Names of folders, and the endings of file names that test frameworks look for.
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

#: What tests, and prose, count of what code counts, unless they are asked for.
BESIDE_WEIGHT: Final = 0.5


def is_test(path: str) -> bool:
    """Return whether the file at `path` tests code, or serves tests."""
    return _TEST_FOLDERS.search(path) is not None or _TEST_FILES.search(path) is not None


def is_prose(path: str) -> bool:
    """Return whether the file at `path` is written about code."""
    return _PROSE.search(path) is not None


def path_globs(patterns: Iterable[str]) -> tuple[str, ...]:
    """Return path patterns (`search.retrieval.query.glob`) for what people write in a .gitignore.

    Without a slash before its end a pattern is meant at any depth, with one in front from the root. What ends
    in a slash is all that lies below, and so is a name without wildcard and extension.
    """
    return tuple(dict.fromkeys(glob for pattern in patterns for glob in _globs(pattern.strip())))


def _globs(pattern: str) -> tuple[str, ...]:
    is_deep = "/" not in pattern.rstrip("/")
    bare = pattern.removeprefix("./").removeprefix("/")
    if is_deep and bare:
        bare = f"**/{bare}"
    if bare.endswith("/"):
        return (f"{bare}**",)
    is_folder = bare and not set(".*?[") & set(bare.rpartition("/")[2])
    return (bare, f"{bare}/**") if is_folder else (bare,)


def weight_of_path(path: str, asked: str) -> float:
    """Return how much the file at `path` counts for who asks `asked`, in (0, 1].

    Tests use the names of what they test more often than the code itself does, and manuals explain in the
    words of questions; who asks how something is done wants the place where it is done.
    """
    weight = 1.0
    if is_test(path) and _ABOUT_TESTS.search(asked) is None:
        weight *= BESIDE_WEIGHT
    if is_prose(path) and _ABOUT_PROSE.search(asked) is None:
        weight *= BESIDE_WEIGHT
    return weight
