"""Which folders of a source its project file chooses, and which it leaves out.

Patterns are those of gitignore(5): `*` and `?` within a name, `**` for any number of folders.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from ingest.connectors.ignore import Rule, parse_rule


class ChosenFolders:
    """Folders to read, each by its path from the root; without any, all are chosen."""

    def __init__(self, patterns: Sequence[str]) -> None:
        wanted = tuple(clean_pattern(pattern) for pattern in patterns)
        self._wanted = () if "" in wanted else wanted
        self._rules = tuple(_rules(f"/{pattern}" for pattern in self._wanted))
        self._heads = tuple(_head(pattern) for pattern in self._wanted)

    def holds(self, path: str) -> bool:
        """Return whether a file or folder lies in a chosen folder, or is one."""
        return not self._rules or any(_matches(self._rules, above) for above in _path_and_above(path))

    def leads_to(self, path: str) -> bool:
        """Return whether a chosen folder may lie in this one."""
        names = path.split("/")
        return any(_begins(names, *head) for head in self._heads)

    def names(self, path: str) -> bool:
        """Return whether this folder is written out in a choice, so that it is read whatever its name."""
        return any(f"{pattern}/".startswith(f"{path}/") for pattern in self._wanted)


class ExcludedFolders:
    """Folders to leave out: a bare name at any depth, a path from the root."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._rules = tuple(_rules(_excluding(pattern) for pattern in patterns))

    def holds(self, path: str) -> bool:
        """Return whether this folder itself is left out."""
        return _matches(self._rules, path)


def clean_pattern(pattern: str) -> str:
    """Return the pattern without what stands for the root: `./docs/` is `docs`, `.` is nothing."""
    names = unicodedata.normalize("NFC", pattern.strip()).split("/")
    return "/".join(name for name in names if name not in ("", "."))


def _excluding(pattern: str) -> str:
    cleaned = clean_pattern(pattern)
    is_from_root = pattern.strip().startswith(("/", "./"))
    # An ignore file would take a leading mark for a negation.
    return f"/{cleaned}" if is_from_root else f"\\{cleaned}" if cleaned.startswith("!") else cleaned


def _rules(patterns: Iterable[str]) -> Iterator[Rule]:
    return (rule for pattern in patterns if (rule := parse_rule(pattern)) is not None)


def _head(pattern: str) -> tuple[tuple[Rule, ...], bool]:
    """Return the names before the first `**`, and whether there is one, so that what follows may lie
    anywhere.
    """
    before, stars, _ = pattern.partition("**")
    names = before.split("/")[:-1] if stars else pattern.split("/")
    return tuple(_rules(f"/{name}" for name in names)), bool(stars)


def _begins(names: Sequence[str], head: Sequence[Rule], is_open: bool) -> bool:
    is_above = is_open or len(names) < len(head)
    return is_above and all(rule.pattern.match(name) for rule, name in zip(head, names, strict=False))


def _matches(rules: Sequence[Rule], path: str) -> bool:
    name = path.rpartition("/")[2]
    return any(rule.pattern.match(name if rule.is_by_name else path) for rule in rules)


def _path_and_above(path: str) -> Iterator[str]:
    yield path
    for at in range(len(path) - 1, -1, -1):
        if path[at] == "/":
            yield path[:at]
