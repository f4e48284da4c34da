"""Visibility of folders of this machine: those of sources hidden from a caller may not be read for them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.db.models import Q

from ingest.connectors.git.address import parse_address
from kebab.identity.models import Workspace
from kebab.identity.reader import Reader
from kebab.stack.paths import file_identity
from search.access.restrictions import hidden_sources
from search.models import SourceKind

_IS_LOCAL = Q(kind=SourceKind.FOLDER) | Q(kind=SourceKind.GIT, config__url__startswith="file:")


def overlaps_hidden(folder: Path, workspace: Workspace, reader: Reader) -> bool:
    """Return whether `folder`, all links followed, is, contains or lies in the folder of a hidden source."""
    hidden = hidden_sources(workspace, reader).filter(_IS_LOCAL).values_list("kind", "config")
    given = _working_tree(folder)
    names, lineage = _identities(given), _ancestor_identities(given)
    places = (_working_tree(_source_folder(kind, config)) for kind, config in hidden)
    return any(names & _ancestor_identities(place) or lineage & _identities(place) for place in places)


def _source_folder(kind: str, config: Mapping[str, Any]) -> Path:
    folder = parse_address(config["url"]).folder if kind == SourceKind.GIT else Path(config["path"])
    assert folder is not None  # noqa: S101  # only file: addresses are selected
    try:
        return folder.resolve()
    except (OSError, RuntimeError):
        return folder


def _working_tree(folder: Path) -> Path:
    """Return the working tree if `folder` is a repository's .git: both hold the same text."""
    return folder.parent if folder.name == ".git" else folder


def _ancestor_identities(folder: Path) -> set[object]:
    return {name for each in (folder, *folder.parents) for name in _identities(each)}


def _identities(folder: Path) -> set[object]:
    """Return the path and its identity on disk, since a disk may ignore case or be mounted twice."""
    identity = file_identity(folder)
    return {folder} if identity is None else {folder, identity}
