"""Targets of `kebab ingest PATH|URL`.

A folder, a repository or a site becomes a source, a file a document of an upload source.
"""

import hashlib
import os
from argparse import ArgumentTypeError
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.text import slugify

from ingest.archives.names import is_archive
from ingest.cli.sites import SiteTarget, is_site_address, site_target
from ingest.cli.source_readers import find_groups, reader_facts
from ingest.connectors.git.address import GitAddress, check_address, file_url, is_git_address, parse_address
from ingest.errors import AddressNotAllowed
from ingest.models import Job
from ingest.services.archive_uploads import ArchiveUpload, accept_archive, archive_folder, check_archive
from ingest.services.source_definition import UPLOADS, git_config
from ingest.services.sources import sync_source, update_source
from ingest.services.uploads import Upload, accept_upload
from kebab.cli.errors import CliError, Exit
from kebab.cli.parser import is_utf8, path_argument
from kebab.people import audit
from kebab.people.models import Workspace
from kebab.people.models.workspace import SLUG, is_slug
from kebab.people.operator import command_line_access
from search.corpus import get_or_create_source
from search.corpus.paths import normalise_path
from search.models import Source, SourceKind

_MAX_KEY_CHARS = 63


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRequest:
    """A target to ingest, and its options."""

    #: a folder, a file, or the address of a repository or a site
    path: Path | GitAddress | SiteTarget
    source: str | None = None
    tags: tuple[str, ...] = ()
    trust: str | None = None
    version: str = ""
    embed: bool = True
    #: whether the folder is synced soon after a change from now on; None: unchanged
    watch: bool | None = None
    #: whether an archive's documents retain their paths in it; else they go below the archive's name
    as_root: bool = False
    #: credentials of a repository from now on; None: unchanged
    credentials: Mapping[str, str] | None = field(default=None, repr=False)
    #: the only groups, by name or id, that may read the source; None: unchanged, every member for a new one
    readers: tuple[str, ...] | None = None


def target(text: str) -> Path | GitAddress | SiteTarget:
    """Return the target at the path or address `text`: a `type` for arguments. Raises ArgumentTypeError."""
    if is_site_address(text):
        return site_target(text)
    if not is_git_address(text):
        return _readable_path(text)
    try:
        address = parse_address(text)
        check_address(address)
    except AddressNotAllowed as error:
        raise ArgumentTypeError(str(error)) from error
    if address.folder is None:
        return address
    return parse_address(file_url(existing_path(str(address.folder))))


def _readable_path(text: str) -> Path:
    path = existing_path(text)
    if path.is_dir() and not is_utf8(str(path)):  # a source stores its path
        raise ArgumentTypeError(f"{str(path)!r} is not UTF-8, and can't be kept as a source; rename it")
    return path


def existing_path(text: str) -> Path:
    """Return the folder or file at the path `text`: a `type` for arguments. Raises ArgumentTypeError."""
    if "://" in text:
        raise ArgumentTypeError(f"{text[:200]!r} is an address; this version reads folders and files")
    path = path_argument(text)
    try:
        resolved = path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise ArgumentTypeError(f"{str(path)!r} can't be found; give a folder or a file") from error
    if not (resolved.is_dir() or resolved.is_file()) or not os.access(resolved, os.R_OK):
        raise ArgumentTypeError(f"{str(resolved)!r} can't be read; give a folder or a file that may be")
    return resolved


def existing_folder(text: str) -> Path:
    """Return the folder that an argument names. Raises ArgumentTypeError."""
    path = existing_path(text)
    if not path.is_dir():
        raise ArgumentTypeError(f"{text!r} is not a folder")
    return path


def request_ingest(workspace: Workspace, request: IngestRequest) -> Job:
    """Find or create the source and return its new job.

    Raises CliError, SourceMismatch, InvalidPath, and the errors of `update_source`, `accept_upload` and
    `accept_archive`.
    """
    path = request.path
    if request.watch and not (isinstance(path, Path) and path.is_dir()):
        raise CliError("Only a folder can be watched; leave out --watch.", code="invalid_request")
    if isinstance(path, GitAddress):
        return _request_sync(workspace, request, SourceKind.GIT, git_config(path.url), PurePath(path.name))
    if isinstance(path, SiteTarget):
        return _request_sync(workspace, request, SourceKind.WEB, dict(path.config), PurePath(path.name))
    if path.is_dir():
        return _request_sync(workspace, request, SourceKind.FOLDER, {"path": str(path)}, path)
    if is_archive(path.name):
        return _request_archive(workspace, request, path)
    return _request_file(workspace, request, path)


def source_key(path: PurePath) -> str:
    """Return the key of a source from its folder's or repository's name: `my-docs` for `My Docs`."""
    key = slugify(path.name).replace("_", "-").strip("-")[:_MAX_KEY_CHARS].strip("-")
    # A name without Latin letters leaves an empty key; the same folder must get the same key again.
    return key or f"folder-{hashlib.blake2b(os.fsencode(path), digest_size=4).hexdigest()}"


def _request_sync(
    workspace: Workspace, request: IngestRequest, kind: str, config: dict[str, Any], default_name: PurePath
) -> Job:
    source = _prepare_source(workspace, request, kind, config, default_name)
    return sync_source(command_line_access(workspace), source, version=request.version, embed=request.embed)


def _request_archive(workspace: Workspace, request: IngestRequest, file: Path) -> Job:
    _check_size(file, "KEBAB_ARCHIVE_LIMIT_BYTES")
    folder = None if request.as_root else normalise_path(archive_folder(file.name))
    operator = command_line_access(workspace)
    with file.open("rb") as opened:
        check_archive(file.name, opened)  # before a source is created for it
        upload = ArchiveUpload(
            source=_upload_source_id(workspace, request),
            name=file.name,
            folder=folder,
            version=request.version,
            file=opened,
            stated=_stated_fields(request),
            embed=request.embed,
        )
        return accept_archive(workspace, upload, reader=operator.reader, requested_by=operator.actor)


def _request_file(workspace: Workspace, request: IngestRequest, file: Path) -> Job:
    _check_size(file, "KEBAB_UPLOAD_LIMIT_BYTES")
    operator = command_line_access(workspace)
    path = normalise_path(file.name)  # before a source is created for it
    upload = Upload(
        source=_upload_source_id(workspace, request),
        path=path,
        version=request.version,
        content=file.read_bytes(),
        stated=_stated_fields(request),
        embed=request.embed,
    )
    return accept_upload(workspace, upload, reader=operator.reader, requested_by=operator.actor).job


def _check_size(file: Path, setting: str) -> None:
    size_bytes, limit_bytes = file.stat().st_size, getattr(settings, setting)
    if size_bytes > limit_bytes:
        raise CliError(
            f"{file} has {size_bytes:,} bytes; {limit_bytes:,} are the limit ({setting}).", code="too_large"
        )


def _stated_fields(request: IngestRequest) -> dict[str, object]:
    stated = {"tags": list(request.tags) or None, "trust_level": request.trust}
    return {name: value for name, value in stated.items() if value is not None}


def _upload_source_id(workspace: Workspace, request: IngestRequest) -> str:
    """Return the id of the upload source."""
    return str(_prepare_source(workspace, request, SourceKind.UPLOAD, {}, PurePath(UPLOADS)).pk)


@transaction.atomic  # so that a restricted source is never readable by others
def _prepare_source(
    workspace: Workspace, request: IngestRequest, kind: str, config: dict[str, Any], default_name: PurePath
) -> Source:
    """Return the existing source of the target or a new one, updated by the request."""
    source, is_new = _find_or_create(workspace, request, kind, config, default_name)
    stated = _changes(source, request)
    if is_new:
        audit.record(command_line_access(workspace), "source.created", source.key, kind=kind, **config)
        if request.readers is not None:
            stated["readers"] = find_groups(workspace, request.readers)
    else:
        _check_readers(source, request)
    if stated:
        update_source(command_line_access(workspace), source, stated)
    return source


def _find_or_create(
    workspace: Workspace, request: IngestRequest, kind: str, config: dict[str, Any], default_name: PurePath
) -> tuple[Source, bool]:
    if request.source is None and config:
        same = Source.objects.in_workspace(workspace).filter(kind=kind, config__contains=config)
        found = same.order_by("created_at").first()
        if found is not None:
            return found, False
    key = source_key(default_name) if request.source is None else _validate_key(request.source)
    return get_or_create_source(workspace, key, kind=kind, config=config)


def _changes(source: Source, request: IngestRequest) -> dict[str, Any]:
    """Return the requested fields that differ from the source's; uploads have their own tags and trust."""
    requested: dict[str, Any] = {"watch": request.watch}
    if source.kind != SourceKind.UPLOAD:
        requested |= {"default_tags": list(request.tags) or None, "default_trust": request.trust}
    changed = {name: value for name, value in requested.items() if value not in (None, getattr(source, name))}
    return changed if request.credentials is None else {**changed, "credentials": request.credentials}


def _check_readers(source: Source, request: IngestRequest) -> None:
    """Raise CliError when the source has other readers than requested."""
    if request.readers is None:
        return
    wanted = find_groups(source.workspace, request.readers)
    known = reader_facts(source)["readers"]
    if known is None or {group["id"] for group in known} != {str(group) for group in wanted}:
        raise CliError(
            f"The source {source.key!r} is there already, with other readers; change them with:"
            f" kebab source restrict {source.key} --to ...",
            code="source_exists",
            exit_code=Exit.NOTHING,
        )


def _validate_key(key: str) -> str:
    if not is_slug(key):
        raise CliError(f"{key[:100]!r} can't name a source. {SLUG.message}", code="invalid_slug")
    return key
