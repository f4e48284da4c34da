"""What a sub-verb of `kebab eval` is, and how all of them become one parser."""

import argparse
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kebab.cli.command import BaseVerb
from kebab.cli.parser import add_workspace, subverb
from kebab.people.models import Workspace

Options = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubVerb:
    """One thing that `kebab eval` does in a workspace; all of them take `--workspace` and `--json`."""

    #: One word, or two: `topics import`.
    name: str
    meaning: str
    #: Gives the exit code.
    run: Callable[[BaseVerb, Workspace, Options], int]
    add_arguments: Callable[[argparse.ArgumentParser], object] = lambda parser: None


def add_subverbs(parser: argparse.ArgumentParser, subverbs: Iterable[SubVerb]) -> None:
    """Let `parser` take the sub-verbs; the one that was named is then its option `subverb`, else None."""
    parser.set_defaults(subverb=None)
    known = list(subverbs)
    words = list(dict.fromkeys(each.name.split(" ")[0] for each in known))
    verbs = parser.add_subparsers(metavar=" | ".join(words))
    for word in words:
        below = [each for each in known if each.name.split(" ")[0] == word]
        if below[0].name == word:
            _add(verbs, word, below[0])
            continue
        names = [each.name.removeprefix(f"{word} ") for each in below]
        inner = subverb(verbs, word, f"{', '.join(names)}: {word}")
        group = inner.add_subparsers(required=True, dest="what", metavar=" | ".join(names))
        for name, each in zip(names, below, strict=True):
            _add(group, name, each)


def _add(verbs: Any, name: str, each: SubVerb) -> None:
    made = subverb(verbs, name, each.meaning)
    add_workspace(made)
    each.add_arguments(made)
    made.set_defaults(subverb=each)
