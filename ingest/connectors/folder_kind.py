"""The kind of source that reads a folder of this server."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path, PurePath
from typing import Any, Final

from django.conf import settings
from django.utils.functional import lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from ingest.connectors.declaration import ConnectorField, ConnectorKind, MayRead
from ingest.connectors.errors import ListingFailed
from ingest.connectors.folder_source import FolderSource
from ingest.connectors.types import Connector, OpenOptions
from ingest.connectors.walk_rules import WalkRules
from ingest.errors import FolderNotAllowed
from ingest.exports.found import ExportSource
from kebab.stack.storage.private_places import PrivateFolders
from search.models import Source, SourceKind


class _FolderKind(ConnectorKind):
    def check_config(self, given: Mapping[str, Any], may_read: MayRead) -> Mapping[str, Any]:
        """Return the config with all links followed. Raises FolderNotAllowed."""
        return {"path": str(resolve_allowed_folder(given["path"], may_read))}

    def derive_title(self, config: Mapping[str, Any]) -> str:
        """Return the name of the folder."""
        return PurePath(config["path"]).name

    def open(self, options: OpenOptions) -> AbstractContextManager[Connector]:
        """Open the folder, unless it, or one above it, has become a link. Raises ListingFailed."""
        rules = WalkRules.from_settings()
        files = FolderSource(
            _stored_folder(options.source), max(rules.max_code_bytes, rules.max_document_bytes)
        )
        return nullcontext(ExportSource(files))

    def probe(self, source: Source, while_waiting: Callable[[], None]) -> str:
        """Read the folder's first name. Raises ListingFailed."""
        try:
            first = next(_stored_folder(source).iterdir(), None)
        except OSError as error:
            raise ListingFailed(
                _("The folder can’t be read: %(reason)s.") % {"reason": error.strerror}
            ) from error
        return (
            _("Connected. There are no documents yet.")
            if first is None
            else _("Connected. The folder can be read.")
        )


def resolve_allowed_folder(path: str, may_read: MayRead) -> Path:
    """Return the folder with all links followed. Raises FolderNotAllowed.

    The message is the same for a folder that may not be read, whether it exists or not, and for one with
    Kebab's own files.
    """
    folder = _resolve_path(path)
    if not may_read(folder) or PrivateFolders.find().contains(folder):
        raise FolderNotAllowed(
            f"The folder {path[:200]!r} lies outside the folders that may be read here; the operator allows"
            " more with KEBAB_FOLDER_ROOTS."
        )
    try:
        is_folder = folder.is_dir()
    except OSError:  # a name too long, a folder that may not be entered
        is_folder = False
    if not is_folder:
        raise FolderNotAllowed(f"The folder {path[:200]!r} is not there, or can't be read; check the path.")
    return folder


def _resolve_path(path: str) -> Path:
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise FolderNotAllowed(f"The folder {path[:200]!r} can't be found: {error}.") from error


def _stored_folder(source: Source) -> Path:
    """Return the folder, whose path was resolved when the source was created; a later link may lead out."""
    folder = Path(source.config["path"])
    if folder.resolve() != folder:
        raise ListingFailed(
            f"{folder}, or a folder above it, is a link to elsewhere now; make a source for where it leads."
        )
    return folder


def _help() -> str:
    roots = ", ".join(map(str, settings.KEBAB_FOLDER_ROOTS[:5]))
    return _("On this server, in %(roots)s. Includes subfolders.") % {"roots": roots}


FOLDER: Final = _FolderKind(
    kind=SourceKind.FOLDER,
    label=gettext_lazy("Folder"),
    heading=gettext_lazy("Add a folder"),
    summary=gettext_lazy("A folder of this server, including subfolders."),
    icon="folder",
    fields=(
        ConnectorField(
            name="path",
            label=gettext_lazy("Folder"),
            help=lazy(_help, str)(),
            api_help="",
            type="path",
            is_required=True,
            max_chars=4_000,
        ),
    ),
    needed_setting="KEBAB_FOLDER_ROOTS",
    is_watchable=True,
    is_tested_on_page=False,
    config_doc="The configuration of a folder source.",
)
