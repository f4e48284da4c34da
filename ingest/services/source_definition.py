"""Making and finding sources on behalf of people and tools, who may not name any folder they like."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from ingest.connectors.git.address import GitAddress, check_address, file_url, read_address
from ingest.connectors.git.credentials import read_credentials, seal_credentials
from ingest.connectors.web.config import site_config
from ingest.errors import FolderNotAllowed
from ingest.services.path_visibility import overlaps_hidden
from ingest.services.sync_policy import upkeep_fields
from kebab.http.api.errors import Conflict, NotFound
from kebab.people.models import Workspace
from kebab.people.reader import Reader
from kebab.stack.storage.private_places import PrivatePlaces
from kebab.uuids import as_uuid
from search.access.querysets import sources_of
from search.access.restrictions import hidden_from
from search.corpus import ensure_source
from search.errors import UnknownSource
from search.libraries.source_stats import refresh_standing
from search.models import Source, SourceKind

#: Where uploads go that name no source.
UPLOADS = "uploads"
# Whether the caller may not have a folder read, wherever it lies.
_IsBarred = Callable[[Path], bool]


def create_source(
    workspace: Workspace, reader: Reader, *, key: str, kind: str, config: Mapping[str, Any], **described: Any
) -> Source:
    """Return a new source. Raises Conflict for a key that is taken, FolderNotAllowed, AddressNotAllowed,
    CredentialsRefused.
    """
    is_barred = partial(overlaps_hidden, workspace=workspace, reader=reader)
    check = _CHECKS.get(kind)
    checked = check(config, is_barred) if check else {"config": dict(config)}
    described |= upkeep_fields(kind, described, is_new=True)
    try:
        with transaction.atomic():
            source = Source.objects.create(workspace=workspace, key=key, kind=kind, **checked, **described)
            source.refresh_from_db()  # with the time that Postgres' clock gave its first sync
            return source
    except IntegrityError as error:
        raise _key_taken(key) from error


def change_source(source: Source, changes: Mapping[str, Any]) -> Source:
    """Return the source with `changes` made to what is said of it; `credentials` replace what it has.

    Raises NotFound when it is gone, Conflict for credentials of what takes none, CredentialsRefused.
    """
    changes = {**changes, **upkeep_fields(source.kind, changes)}
    if "credentials" in changes:
        changes["sealed_credentials"] = _resealed(source, changes.pop("credentials"))
    if changes:
        refresh_standing(source.workspace_id, source.pk, **changes)
    changed = Source.objects.in_workspace(source.workspace_id).filter(pk=source.pk).first()
    if changed is None:
        raise NotFound
    return changed


def refuse_upload_source(source: Source) -> None:
    """Raises Conflict for a source that there is nothing to sync of."""
    if source.kind == SourceKind.UPLOAD:
        raise Conflict(
            f"The source {source.key!r} holds uploads; there is nothing to sync, upload documents instead.",
            code="nothing_to_sync",
        )


def upload_source(workspace: Workspace, reader: Reader, name: str = UPLOADS) -> Source:
    """Return the upload source with this key or id; one with a new key is made.

    Raises SourceMismatch when it reads something else, UnknownSource for an id that no source has. For a key
    that a source has which `reader` may not know of it raises Conflict, as `create_source` does.
    """
    source_id = as_uuid(name)
    if source_id is not None:
        named = sources_of(workspace, reader).filter(pk=source_id).values_list("key", flat=True).first()
        if named is None:
            raise UnknownSource(f"No source has the id {name}; give a source's key, or none for {UPLOADS!r}.")
        name = named
    if hidden_from(workspace, reader).filter(key=name).exists():
        raise _key_taken(name)
    return ensure_source(workspace, name, kind=SourceKind.UPLOAD)


def takes_uploads(workspace: Workspace, reader: Reader, key: str) -> bool:
    """Return whether `upload_source` gives a source for this key, be it one that it makes."""
    is_other = Source.objects.in_workspace(workspace).filter(key=key).exclude(kind=SourceKind.UPLOAD).exists()
    return not is_other and not hidden_from(workspace, reader).filter(key=key).exists()


def _key_taken(key: str) -> Conflict:
    # One wording, whether or not the caller may know of the source that has it.
    return Conflict(f"The key {key!r} is taken; choose another one.", code="source_exists")


def allowed_folder(path: str, is_barred: _IsBarred) -> Path:
    """Return the folder with all links followed. Raises FolderNotAllowed.

    A folder outside the allowed roots is refused in the same words whether it exists or not, and so is one
    that is barred, or where Kebab keeps its own files.
    """
    folder = _resolved(path)
    is_within = any(folder.is_relative_to(root) for root in settings.KEBAB_FOLDER_ROOTS)
    if not is_within or is_barred(folder) or PrivatePlaces.find().hold(folder):
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


def _folder_config(config: Mapping[str, Any], is_barred: _IsBarred) -> dict[str, Any]:
    return {"config": {"path": str(allowed_folder(config["path"], is_barred))}}


def _git_config(config: Mapping[str, Any], is_barred: _IsBarred) -> dict[str, Any]:
    address = read_address(config["url"])
    check_address(address)
    url = address.url
    if address.folder is not None:
        url = file_url(allowed_folder(str(address.folder), is_barred))
    return {
        "config": git_config(url, config.get("branch", ""), config.get("tags", ())),
        "sealed_credentials": _sealed(config.get("credentials"), address),
    }


def git_config(url: str, branch: str = "", tags: Sequence[str] = ()) -> dict[str, Any]:
    """Return the config of a git source as it is stored."""
    given = {"branch": branch, "tags": list(tags)}
    return {"url": url, **{name: value for name, value in given.items() if value}}


def _web_config(config: Mapping[str, Any], is_barred: _IsBarred) -> dict[str, Any]:
    return {"config": site_config(config)}


def _resealed(source: Source, given: Mapping[str, str] | None) -> str:
    if source.kind != SourceKind.GIT:
        raise Conflict(
            f"The source {source.key!r} is of kind {source.kind}, which takes no credentials.",
            code="takes_no_credentials",
        )
    return _sealed(given, read_address(source.config["url"]))


def _sealed(given: Mapping[str, str] | None, address: GitAddress) -> str:
    return seal_credentials(read_credentials(given, address)) if given else ""


#: From what was given for a kind to fields of the source.
_CHECKS: Mapping[str, Callable[[Mapping[str, Any], _IsBarred], dict[str, Any]]] = {
    SourceKind.FOLDER: _folder_config,
    SourceKind.GIT: _git_config,
    SourceKind.WEB: _web_config,
}


def _resolved(path: str) -> Path:
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise FolderNotAllowed(f"The folder {path[:200]!r} can't be found: {error}.") from error
