"""Subcommands of `kebab eval`, and the parser that takes them all."""

import argparse
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kebab.cli.command import KebabCommand, add_subcommand, add_workspace
from kebab.identity.models import Workspace

Options = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subcommand:
    """A subcommand of `kebab eval` in a workspace; all of them take `--workspace` and `--json`."""

    #: One word, or two: `topics import`.
    name: str
    meaning: str
    #: Returns the exit code.
    run: Callable[[KebabCommand, Workspace, Options], int]
    add_arguments: Callable[[argparse.ArgumentParser], object] = lambda parser: None


def add_subcommands(parser: argparse.ArgumentParser, subcommands: Iterable[Subcommand]) -> None:
    """Add the subcommands to `parser`; the option `subcommand` then holds the chosen one, else None."""
    parser.set_defaults(subcommand=None)
    known = list(subcommands)
    words = list(dict.fromkeys(each.name.split(" ")[0] for each in known))
    commands = parser.add_subparsers(metavar=" | ".join(words))
    for word in words:
        below = [each for each in known if each.name.split(" ")[0] == word]
        if below[0].name == word:
            _add(commands, word, below[0])
            continue
        names = [each.name.removeprefix(f"{word} ") for each in below]
        inner = add_subcommand(commands, word, f"{', '.join(names)}: {word}")
        group = inner.add_subparsers(required=True, dest="what", metavar=" | ".join(names))
        for name, each in zip(names, below, strict=True):
            _add(group, name, each)


def _add(commands: Any, name: str, each: Subcommand) -> None:
    parser = add_subcommand(commands, name, each.meaning)
    add_workspace(parser)
    each.add_arguments(parser)
    parser.set_defaults(subcommand=each)
