"""The list of names as a file."""

from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Literal

from tests.support.paths import ROOT

Rule = Literal["heading", "definition"]

PUBLISHED = ROOT / "docs" / "evaluation" / "identifiers.tsv"


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A name, and how a chunk that documents it is recognised."""

    #: As it is searched for.
    query: str
    #: `function`, `error`, `option` and so on.
    kind: str
    #: Folder of the corpus.
    corpus: str
    #: Whether a heading above the chunk has the name, or the chunk's text defines it.
    rule: Rule
    #: The documents that document it, below the corpus' folder.
    paths: tuple[str, ...]


def read_names(path: Path = PUBLISHED) -> list[Name]:
    """Return the names in the order of the file."""
    _, *lines = path.read_text(encoding="utf-8").splitlines()
    return [_name(*line.split("\t")) for line in lines]


def _name(query: str, kind: str, corpus: str, rule: Rule, paths: str) -> Name:
    return Name(query=query, kind=kind, corpus=corpus, rule=rule, paths=tuple(paths.split(" ")))


def write_names(names: Iterable[Name], path: Path) -> None:
    """Write the names, a line each after a header line; paths are separated by spaces."""
    rows = [
        tuple(field.name for field in fields(Name)),
        *((*astuple(name)[:4], " ".join(name.paths)) for name in names),
    ]
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
