"""Fields of an imported source: it retains its documents, and syncs only on request."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from kebab.stack.storage.private_places import PrivateFolders
from search.models import SourceKind, SourceState
from search.models.source import is_masked


def source_fields(row: Mapping[str, Any], roots: Sequence[Path]) -> tuple[dict[str, Any], bool]:
    """Return the fields of a source, and whether it was detached from its folder or server.

    A source retains its folder if it is in `roots`, which the operator allows, and its server if the bundle
    has the whole address. Otherwise it becomes an upload source with the same documents.
    """
    fields = {name: value for name, value in row.items() if name != "id"}
    is_indexed = row["last_indexed_at"] is not None
    if row["state"] == SourceState.INDEXING:  # the job isn't part of the bundle
        fields["state"] = SourceState.INDEXED if is_indexed else SourceState.PENDING
    folder = _folder(row)
    if folder is None and not is_masked(row["config"]):
        return fields, False
    found = None if folder is None else _allowed_folder(folder, roots)
    if found is None:
        return {**fields, "kind": SourceKind.UPLOAD, "config": {}, "sync_every_minutes": None}, True
    return {**fields, "config": _config_for(found, row)}, False


def _folder(row: Mapping[str, Any]) -> str | None:
    """Return the local folder that a source reads; None if it reads none."""
    config = row["config"]
    if row["kind"] == SourceKind.FOLDER:
        return str(config.get("path", ""))
    url = str(config.get("url", "")).strip()
    if row["kind"] == SourceKind.GIT and url.lower().startswith("file:"):
        return unquote(urlsplit(url).path)
    return None


def _allowed_folder(folder: str, roots: Sequence[Path]) -> Path | None:
    """Return the folder with links resolved; None when no source may read it."""
    try:
        found = Path(folder).resolve()
    except (OSError, RuntimeError, ValueError):
        return None
    is_allowed = Path(folder).is_absolute() and any(found.is_relative_to(root) for root in roots)
    return found if is_allowed and not PrivateFolders.find().contains(found) else None


def _config_for(folder: Path, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the source's config with the resolved folder, because sources don't follow links."""
    location = {"path": str(folder)}
    if row["kind"] == SourceKind.GIT:
        location = {"url": f"file://{quote(str(folder))}"}
    return {**row["config"], **location}
