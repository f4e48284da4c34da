"""Look-up of groups and sources by name for the command line, and the readers of a source."""

from argparse import ArgumentTypeError
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from kebab.cli.errors import CliError, Exit
from kebab.people.models import Group, Workspace
from search.access.restrictions import annotate_readers, readers_of
from search.models import Source


def group_names(text: str) -> tuple[str, ...]:
    """Return the names in `a, b`, none for '': a `type` for arguments. Raises ArgumentTypeError."""
    if not text.strip():
        return ()
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise ArgumentTypeError(f"{text!r} names no group between two commas")
    return names


def find_groups(workspace: Workspace, names: Sequence[str]) -> list[UUID]:
    """Return the ids of the groups with these names or ids. Raises CliError."""
    groups = {str(group.pk): group.pk for group in workspace.groups.all()}
    groups |= {group.name: group.pk for group in workspace.groups.all()}
    unknown = [name for name in names if name not in groups]
    if unknown:
        raise CliError(
            f"There is no group {unknown[0][:100]!r} in {workspace.slug}; see: kebab group list",
            code="unknown_group",
            exit_code=Exit.NOTHING,
        )
    return [groups[name] for name in names]


def find_source(workspace: Workspace, key: str) -> Source:
    """Return the source with this key. Raises CliError."""
    source = Source.objects.in_workspace(workspace).filter(key=key).first()
    if source is None:
        raise CliError(
            f"There is no source {key[:100]!r} in {workspace.slug}; see: kebab list sources",
            code="not_found",
            exit_code=Exit.NOTHING,
        )
    return source


def reader_facts(source: Source) -> dict[str, Any]:
    """Return `source_readers.v1`: a source and the groups that may read it, null for every member."""
    found = annotate_readers(Source.objects.in_workspace(source.workspace_id).filter(pk=source.pk)).get()
    groups = readers_of(found)
    rows = [] if groups is None else Group.objects.filter(workspace=source.workspace_id, pk__in=groups)
    named = [{"id": str(group.pk), "name": group.name} for group in rows]
    return {
        "schema_version": "source_readers.v1",
        "source": source.key,
        "readers": None if groups is None else named,
    }


def describe_readers(facts: Mapping[str, Any]) -> str:
    """Return a `source_readers.v1` as a sentence."""
    if facts["readers"] is None:
        return f"Every member reads {facts['source']}."
    names = ", ".join(group["name"] for group in facts["readers"])
    readers = f"Beside owners and admins only {names}" if names else "Only owners and admins"
    return f"{readers} may read {facts['source']}."
