"""Which folders of this machine a caller may not have read: those of sources that are hidden from them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.db.models import Q

from ingest.connectors.git.address import read_address
from kebab.people.models import Workspace
from kebab.people.reader import Reader
from kebab.stack.paths import identity_of
from search.access.restrictions import hidden_from
from search.models import SourceKind

_IS_LOCAL = Q(kind=SourceKind.FOLDER) | Q(kind=SourceKind.GIT, config__url__startswith="file:")


def overlaps_hidden(folder: Path, workspace: Workspace, reader: Reader) -> bool:
    """Return whether `folder`, all links followed, is, holds or lies in what a hidden source reads."""
    hidden = hidden_from(workspace, reader).filter(_IS_LOCAL).values_list("kind", "config")
    given = _tree(folder)
    names, lineage = _names(given), _lineage(given)
    places = (_tree(_place(kind, config)) for kind, config in hidden)
    return any(names & _lineage(place) or lineage & _names(place) for place in places)


def _place(kind: str, config: Mapping[str, Any]) -> Path:
    folder = read_address(config["url"]).folder if kind == SourceKind.GIT else Path(config["path"])
    assert folder is not None  # noqa: S101  # of file: addresses alone
    try:
        return folder.resolve()
    except (OSError, RuntimeError):
        return folder


def _tree(folder: Path) -> Path:
    """Return the working tree for a repository's own folder: both hold the same text."""
    return folder.parent if folder.name == ".git" else folder


def _lineage(folder: Path) -> set[object]:
    return {name for each in (folder, *folder.parents) for name in _names(each)}


def _names(folder: Path) -> set[object]:
    """Return its path, and what it is on its disk: a disk may ignore case, or be mounted twice."""
    identity = identity_of(folder)
    return {folder} if identity is None else {folder, identity}
