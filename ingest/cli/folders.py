"""Folders of this machine as sources, for the demonstration and for measurements."""

from pathlib import Path

from ingest.models import Job
from ingest.services.sources import sync_source, update_source
from kebab.people.models import Workspace
from kebab.people.operator import command_line_access
from search.corpus import ensure_source
from search.models import SourceKind


def sync_folder(
    workspace: Workspace, folder: Path, source: str, *, embed: bool = True, trust: str | None = None
) -> Job:
    """Return the job that syncs `folder` as the source with this key. Raises SourceMismatch."""
    access = command_line_access(workspace)
    found = ensure_source(workspace, source, kind=SourceKind.FOLDER, config={"path": str(folder)})
    if trust is not None and found.default_trust != trust:
        update_source(access, found, {"default_trust": trust})
    return sync_source(access, found, embed=embed)
