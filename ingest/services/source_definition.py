"""Creation and lookup of sources for people and tools, who may name allowed folders only."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q

from ingest.connectors.declaration import MayRead
from ingest.connectors.git.address import parse_address
from ingest.connectors.kinds import KINDS, kind_of
from ingest.jobs.queue.schedule import initial_schedule
from kebab.database.querysets import first_or_not_found
from kebab.errors import Conflict, FieldError, InvalidRequest
from kebab.identity.caller import Access
from kebab.identity.models import Workspace
from kebab.identity.reader import Reader
from kebab.stack.paths import file_identity
from kebab.uuids import parse_uuid
from search.access.restrictions import hidden_sources, visible_sources
from search.corpus import ensure_source
from search.errors import UnknownSource
from search.libraries.source_stats import refresh_source_stats
from search.models import Source, SourceKind

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


#: Key of the source for uploads that name none.
UPLOADS = "uploads"
#: The fields that state a sync policy.
SYNC_POLICY_FIELDS: Final = ("watch", "sync_every_minutes")


def create_source(access: Access, *, key: str, kind: str, config: Mapping[str, Any], **fields: Any) -> Source:
    """Create a source and return it.

    Raises Conflict for a key that is taken, FolderNotAllowed, AddressNotAllowed, CredentialsRefused.
    """
    checked = check_config(kind, config, partial(may_read_folder, access=access))
    fields |= sync_policy_fields(kind, fields, is_new=True)
    try:
        with transaction.atomic():
            source = Source.objects.create(
                workspace=access.workspace, key=key, kind=kind, **checked, **fields
            )
            source.refresh_from_db()  # loads the time of its first sync, which Postgres' clock set
            return source
    except IntegrityError as error:
        raise _key_conflict(key) from error


def may_read_folder(folder: Path, *, access: Access) -> bool:
    """Return whether the caller may have `folder`, all links followed, read. Operators may have any read."""
    if access.caller.operator is not None:
        return True
    is_within = any(folder.is_relative_to(root) for root in settings.KEBAB_FOLDER_ROOTS)
    return is_within and not overlaps_hidden(folder, access.workspace, access.reader)


def check_config(kind: str, config: Mapping[str, Any], may_read: MayRead) -> dict[str, Any]:
    """Check a given config; return the fields of the source to store.

    Raises FolderNotAllowed, AddressNotAllowed, CredentialsRefused.
    """
    declared = KINDS[kind]
    stated = {field.name: config.get(field.name) for field in declared.config_fields}
    given = {name: value for name, value in stated.items() if value or type(value) is int}  # 0 is stated
    checked = declared.check_config(given, may_read)
    sealed = declared.seal_credentials(config.get("credentials") or {}, checked)
    return {"config": dict(checked), "sealed_credentials": sealed}


def change_source(source: Source, changes: Mapping[str, Any]) -> Source:
    """Apply `changes` to the source and return it; `credentials` replace the stored ones.

    Raises NotFound when it is gone, Conflict for credentials of a kind that takes none, CredentialsRefused.
    """
    changes = {**changes, **sync_policy_fields(source.kind, changes)}
    if "credentials" in changes:
        declared = kind_of(source.kind)
        if not declared.credential_fields:
            raise Conflict(
                f"The source {source.key!r} is of kind {source.kind}, which can't have credentials.",
                code="takes_no_credentials",
            )
        changes["sealed_credentials"] = declared.seal_credentials(
            changes.pop("credentials") or {}, source.config
        )
    if changes:
        refresh_source_stats(source.workspace_id, source.pk, **changes)
    return first_or_not_found(Source.objects.in_workspace(source.workspace_id).filter(pk=source.pk))


def sync_policy_fields(kind: str, stated: Mapping[str, Any], *, is_new: bool = False) -> dict[str, Any]:
    """Return the model fields of the sync policy that is `stated` for a source of `kind`.

    A new source with a schedule is synced at once, an existing one after its first interval. Raises
    InvalidRequest for a kind that can't be synced, or watched.
    """
    if stated.get("watch") and not kind_of(kind).is_watchable:
        raise _invalid_field("watch", f"Only a folder can be watched; give a {kind} sync_every_minutes.")
    if stated.get("sync_every_minutes") is not None and not kind_of(kind).is_synced:
        raise _invalid_field("sync_every_minutes", "Uploads come by themselves; there is nothing to sync.")
    fields = {name: stated[name] for name in SYNC_POLICY_FIELDS if name in stated}
    if "sync_every_minutes" in fields:
        fields.update(initial_schedule(fields["sync_every_minutes"], at_once=is_new))
    return fields


def _invalid_field(field: str, message: str) -> InvalidRequest:
    return InvalidRequest(f"{field}: {message}", errors=[FieldError(field=field, message=message)])


def refuse_upload_source(source: Source) -> None:
    """Raise Conflict for an upload source, which has nothing to sync."""
    if source.kind == SourceKind.UPLOAD:
        raise Conflict(
            f"The source {source.key!r} holds uploads; there is nothing to sync, upload documents instead.",
            code="nothing_to_sync",
        )


def ensure_upload_source(workspace: Workspace, reader: Reader, name: str = UPLOADS) -> Source:
    """Return the upload source with this key or id; a new key creates one.

    Raises SourceMismatch for a source of another kind, UnknownSource for an id that no source has, and
    Conflict, as `create_source` does, for the key of a source that is hidden from `reader`.
    """
    source_id = parse_uuid(name)
    if source_id is not None:
        named = visible_sources(workspace, reader).filter(pk=source_id).values_list("key", flat=True).first()
        if named is None:
            raise UnknownSource(f"No source has the id {name}; give a source's key, or none for {UPLOADS!r}.")
        name = named
    if hidden_sources(workspace, reader).filter(key=name).exists():
        raise _key_conflict(name)
    return ensure_source(workspace, name, kind=SourceKind.UPLOAD)


def accepts_uploads(workspace: Workspace, reader: Reader, key: str) -> bool:
    """Return whether `ensure_upload_source` would return a source for this key, an existing or a new one."""
    is_other = Source.objects.in_workspace(workspace).filter(key=key).exclude(kind=SourceKind.UPLOAD).exists()
    return not is_other and not hidden_sources(workspace, reader).filter(key=key).exists()


def _key_conflict(key: str) -> Conflict:
    # The same message whether or not the source with this key is hidden from the caller.
    return Conflict(f"The key {key!r} is taken; choose another one.", code="source_exists")
