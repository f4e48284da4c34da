"""Folders of a source that its project file includes and excludes.

Patterns are those of gitignore(5): `*` and `?` within a name, `**` for any number of folders.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from ingest.connectors.ignore import Rule, parse_rule


class ChosenFolders:
    """Patterns of folders to read, each a path from the root; without any, all folders are read."""

    def __init__(self, patterns: Sequence[str]) -> None:
        wanted = tuple(clean_pattern(pattern) for pattern in patterns)
        self._wanted = () if "" in wanted else wanted
        self._rules = tuple(_parse_rules(f"/{pattern}" for pattern in self._wanted))
        self._heads = tuple(_split_head(pattern) for pattern in self._wanted)

    def holds(self, path: str) -> bool:
        """Return whether a file or folder is, or lies in, a chosen folder."""
        return not self._rules or any(_matches(self._rules, above) for above in _path_and_parents(path))

    def leads_to(self, path: str) -> bool:
        """Return whether this folder may contain a chosen folder."""
        names = path.split("/")
        return any(_matches_head(names, *head) for head in self._heads)

    def is_named(self, path: str) -> bool:
        """Return whether a pattern names this folder literally, so that it is read whatever its name."""
        return any(f"{pattern}/".startswith(f"{path}/") for pattern in self._wanted)


class ExcludedFolders:
    """Patterns of folders to leave out: a bare name at any depth, or a path from the root."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._rules = tuple(_parse_rules(_exclusion_pattern(pattern) for pattern in patterns))

    def holds(self, path: str) -> bool:
        """Return whether a pattern matches this folder itself."""
        return _matches(self._rules, path)


def clean_pattern(pattern: str) -> str:
    """Return the pattern in NFC without empty and `.` parts: `./docs/` becomes `docs`, `.` becomes ''."""
    names = unicodedata.normalize("NFC", pattern.strip()).split("/")
    return "/".join(name for name in names if name not in ("", "."))


def _exclusion_pattern(pattern: str) -> str:
    cleaned = clean_pattern(pattern)
    is_from_root = pattern.strip().startswith(("/", "./"))
    # A leading ! would mean negation in an ignore file.
    return f"/{cleaned}" if is_from_root else f"\\{cleaned}" if cleaned.startswith("!") else cleaned


def _parse_rules(patterns: Iterable[str]) -> Iterator[Rule]:
    return (rule for pattern in patterns if (rule := parse_rule(pattern)) is not None)


def _split_head(pattern: str) -> tuple[tuple[Rule, ...], bool]:
    """Return rules for the names before the first `**`, and whether there is a `**`."""
    before, stars, _ = pattern.partition("**")
    names = before.split("/")[:-1] if stars else pattern.split("/")
    return tuple(_parse_rules(f"/{name}" for name in names)), bool(stars)


def _matches_head(names: Sequence[str], head: Sequence[Rule], is_open: bool) -> bool:
    is_above = is_open or len(names) < len(head)
    return is_above and all(rule.pattern.match(name) for rule, name in zip(head, names, strict=False))


def _matches(rules: Sequence[Rule], path: str) -> bool:
    name = path.rpartition("/")[2]
    return any(rule.pattern.match(name if rule.is_by_name else path) for rule in rules)


def _path_and_parents(path: str) -> Iterator[str]:
    yield path
    for at in range(len(path) - 1, -1, -1):
        if path[at] == "/":
            yield path[:at]
