"""Subcommands of `kebab eval`, and the parser that takes them all."""

import argparse
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kebab.cli.command import KebabCommand, add_subcommand, add_workspace
from kebab.identity.models import Workspace
from search.retrieval.errors import InvalidQuery
from search.retrieval.types import MAX_K, Fusion, Mode

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


def modes(text: str) -> tuple[Mode, ...]:
    """Return the modes of a comma-separated list, each once."""
    try:
        return tuple(dict.fromkeys(Mode(name.strip()) for name in text.split(",")))
    except InvalidQuery as error:
        raise ArgumentTypeError(str(error)) from error


def fusions(text: str) -> tuple[Fusion, ...]:
    """Return the fusions of a comma-separated list, each once."""
    try:
        return tuple(dict.fromkeys(Fusion(name.strip()) for name in text.split(",")))
    except InvalidQuery as error:
        raise ArgumentTypeError(str(error)) from error


def number(text: str) -> int:
    """Return an integer of 1 or more."""
    found = int(text)
    if found < 1:
        raise ArgumentTypeError(f"{found} is out of range; give 1 or more")
    return found


def depth(text: str) -> int:
    """Return a depth of rankings, from 1 to MAX_K."""
    found = number(text)
    if found > MAX_K:
        raise ArgumentTypeError(f"{found} is out of range; give 1 to {MAX_K}")
    return found


def named_runs(modes: Sequence[Mode], fusions: Sequence[Fusion]) -> Iterator[tuple[str, Mode, Fusion | None]]:
    """Yield name, mode and fusion of each run: each mode once, hybrid once per fusion.

    With several fusions, hybrid runs are named `MODE-FUSION`.
    """
    for mode in modes:
        if mode is not Mode.HYBRID:
            yield mode.value, mode, None
        elif len(fusions) > 1:
            yield from ((f"{mode}-{fusion}", mode, fusion) for fusion in fusions)
        else:
            yield mode.value, mode, fusions[0] if fusions else None
