"""Lookup and creation of sources and versions."""

from typing import Any

from kebab.identity.models import Workspace
from search.errors import SourceMismatch
from search.models import Source, SourceVersion


def ensure_source(
    workspace: Workspace, key: str, *, kind: str, config: dict[str, Any] | None = None
) -> Source:
    """Return the source `key` of the workspace, created if missing; see `get_or_create_source`."""
    return get_or_create_source(workspace, key, kind=kind, config=config)[0]


def get_or_create_source(
    workspace: Workspace, key: str, *, kind: str, config: dict[str, Any] | None = None
) -> tuple[Source, bool]:
    """Return the source `key` of the workspace, created if missing, and whether it is new; safe concurrently.

    Raises SourceMismatch when it exists with another kind or configuration.
    """
    wanted = config or {}
    source, is_new = Source.objects.in_workspace(workspace).get_or_create(
        key=key, defaults={"workspace": workspace, "kind": kind, "config": wanted, "title": key}
    )
    if source.kind != kind or (wanted and source.config != wanted):
        raise SourceMismatch(
            f"Source {key!r} already reads {source.kind} {source.masked_config or ''}".rstrip()
            + "; choose another name for this one."
        )
    return source, is_new


def ensure_version(source: Source, tag: str = "") -> SourceVersion:
    """Return the version `tag` of a source, created if missing; '' is the default version."""
    versions = SourceVersion.objects.in_workspace(source.workspace_id)
    title = source.project.get("versions", {}).get(tag, "")
    version, _ = versions.get_or_create(
        source=source, tag=tag, defaults={"workspace_id": source.workspace_id, "title": title}
    )
    return version
