"""Sources and versions, found or made."""

from typing import Any

from kebab.people.models import Workspace
from search.errors import SourceMismatch
from search.models import Source, SourceVersion


def ensure_source(
    workspace: Workspace, key: str, *, kind: str, config: dict[str, Any] | None = None
) -> Source:
    """Return the source `key` of the workspace, made if it isn't there; see `find_or_make_source`."""
    return find_or_make_source(workspace, key, kind=kind, config=config)[0]


def find_or_make_source(
    workspace: Workspace, key: str, *, kind: str, config: dict[str, Any] | None = None
) -> tuple[Source, bool]:
    """Return the source `key` of the workspace and whether it is new: of two at once one makes it.

    Raises SourceMismatch when it is there and reads something else.
    """
    wanted = config or {}
    source, is_new = Source.objects.in_workspace(workspace).get_or_create(
        key=key, defaults={"workspace": workspace, "kind": kind, "config": wanted, "title": key}
    )
    if source.kind != kind or (wanted and source.config != wanted):
        raise SourceMismatch(
            f"Source {key!r} already reads {source.kind} {source.config or ''}".rstrip()
            + "; choose another name for this one."
        )
    return source, is_new


def ensure_version(source: Source, tag: str = "") -> SourceVersion:
    """Return the version `tag` of a source, made if it isn't there; '' is the default version."""
    versions = SourceVersion.objects.in_workspace(source.workspace_id)
    title = source.project.get("versions", {}).get(tag, "")
    version, _ = versions.get_or_create(
        source=source, tag=tag, defaults={"workspace_id": source.workspace_id, "title": title}
    )
    return version
