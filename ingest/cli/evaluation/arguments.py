"""Argument types shared by the subcommands of `kebab eval`. Each raises ArgumentTypeError."""

from argparse import ArgumentTypeError
from collections.abc import Iterator, Sequence

from search.retrieval.errors import InvalidQuery
from search.retrieval.types import MAX_K, Fusion, Mode


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
