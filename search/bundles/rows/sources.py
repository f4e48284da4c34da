"""A source as an import makes it: it keeps what it holds, and reads nothing before somebody asks it to."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from kebab.stack.storage.private_places import PrivatePlaces
from search.models import SourceKind, SourceState


def source_fields(row: Mapping[str, Any], roots: Sequence[Path]) -> tuple[dict[str, Any], bool]:
    """Return the fields of a source, and whether it was taken off the folder that it read.

    A folder of this machine is read on where it lies in `roots`, which the operator allows. Elsewhere a
    bundle may not name any: what came from it stays, as an upload's documents do.
    """
    fields = {name: value for name, value in row.items() if name != "id"}
    is_indexed = row["last_indexed_at"] is not None
    if row["state"] == SourceState.INDEXING:  # by a job that is not here
        fields["state"] = SourceState.INDEXED if is_indexed else SourceState.PENDING
    folder = _folder(row)
    if folder is None:
        return fields, False
    found = _found_within(folder, roots)
    if found is None:
        return {**fields, "kind": SourceKind.UPLOAD, "config": {}, "sync_every_minutes": None}, True
    return {**fields, "config": _reading(found, row)}, False


def _folder(row: Mapping[str, Any]) -> str | None:
    """Return the folder of this machine that a source reads; None: it reads none."""
    config = row["config"]
    if row["kind"] == SourceKind.FOLDER:
        return str(config.get("path", ""))
    url = str(config.get("url", "")).strip()
    if row["kind"] == SourceKind.GIT and url.lower().startswith("file:"):
        return unquote(urlsplit(url).path)
    return None


def _found_within(folder: str, roots: Sequence[Path]) -> Path | None:
    """Return the folder with the links of this machine followed; None: no source may read it."""
    try:
        found = Path(folder).resolve()
    except (OSError, RuntimeError, ValueError):
        return None
    is_allowed = Path(folder).is_absolute() and any(found.is_relative_to(root) for root in roots)
    return found if is_allowed and not PrivatePlaces.find().hold(found) else None


def _reading(folder: Path, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the source's config with the folder as one made here has it: what is a link is not read."""
    place = {"path": str(folder)}
    if row["kind"] == SourceKind.GIT:
        place = {"url": f"file://{quote(str(folder))}"}
    return {**row["config"], **place}
