"""What `kebab ingest PATH|URL` names: a folder, a repository or a site becomes a source, a file a document of
an upload source.
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
from ingest.cli.source_readers import groups_named, reader_facts
from ingest.connectors.git.address import GitAddress, check_address, file_url, is_git_address, read_address
from ingest.errors import AddressNotAllowed
from ingest.models import Job
from ingest.services.archive_uploads import ArchiveUpload, accept_archive, archive_folder, check_archive
from ingest.services.source_definition import UPLOADS, git_config
from ingest.services.sources import restate_source, sync_source
from ingest.services.uploads import Upload, accept_upload
from kebab.cli.errors import CliError, Exit
from kebab.cli.parser import given_path, is_utf8
from kebab.people import audit
from kebab.people.models import Workspace
from kebab.people.models.workspace import SLUG
from kebab.people.operator import the_operator
from search.corpus import find_or_make_source
from search.corpus.paths import normalise_path
from search.models import Source, SourceKind

_MAX_KEY_CHARS = 63


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRequest:
    """What is to be ingested, and how."""

    #: a folder, a file, or where a repository or a site is
    path: Path | GitAddress | SiteTarget
    source: str | None = None
    tags: tuple[str, ...] = ()
    trust: str | None = None
    version: str = ""
    embed: bool = True
    #: whether the folder is synced soon after a change from now on; None: as before
    watch: bool | None = None
    #: whether an archive's documents keep the paths that they have in it; else they go below its name
    as_root: bool = False
    #: what a repository is read with from now on; None: what it was read with before
    credentials: Mapping[str, str] | None = field(default=None, repr=False)
    #: groups, by name or id, that alone may read the source; None: as it is, every member of a new one
    readers: tuple[str, ...] | None = None


def target(text: str) -> Path | GitAddress | SiteTarget:
    """Return what `text` names: a `type` for arguments. Raises ArgumentTypeError."""
    if is_site_address(text):
        return site_target(text)
    if not is_git_address(text):
        return _readable(text)
    try:
        address = read_address(text)
        check_address(address)
    except AddressNotAllowed as error:
        raise ArgumentTypeError(str(error)) from error
    if address.folder is None:
        return address
    return read_address(file_url(existing_path(str(address.folder))))


def _readable(text: str) -> Path:
    path = existing_path(text)
    if path.is_dir() and not is_utf8(str(path)):  # a source keeps where it is
        raise ArgumentTypeError(f"{str(path)!r} is not UTF-8, and can't be kept as a source; rename it")
    return path


def existing_path(text: str) -> Path:
    """Return the folder or file that `text` names: a `type` for arguments. Raises ArgumentTypeError."""
    if "://" in text:
        raise ArgumentTypeError(f"{text[:200]!r} is an address; this version reads folders and files")
    path = given_path(text)
    try:
        resolved = path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise ArgumentTypeError(f"{str(path)!r} can't be found; give a folder or a file") from error
    if not (resolved.is_dir() or resolved.is_file()) or not os.access(resolved, os.R_OK):
        raise ArgumentTypeError(f"{str(resolved)!r} can't be read; give a folder or a file that may be")
    return resolved


def request_ingest(workspace: Workspace, asked: IngestRequest) -> Job:
    """Make or find the source and give the job. Raises CliError, SourceMismatch, InvalidPath, and what
    `restate_source`, `accept_upload` and `accept_archive` raise.
    """
    path = asked.path
    if asked.watch and not (isinstance(path, Path) and path.is_dir()):
        raise CliError("Only a folder can be watched; leave out --watch.", code="invalid_request")
    if isinstance(path, GitAddress):
        return _request_sync(workspace, asked, SourceKind.GIT, git_config(path.url), PurePath(path.name))
    if isinstance(path, SiteTarget):
        return _request_sync(workspace, asked, SourceKind.WEB, dict(path.config), PurePath(path.name))
    if path.is_dir():
        return _request_sync(workspace, asked, SourceKind.FOLDER, {"path": str(path)}, path)
    if is_archive(path.name):
        return _request_archive(workspace, asked, path)
    return _request_file(workspace, asked, path)


def source_key(path: PurePath) -> str:
    """Return the key that a source gets from its folder's or repository's name: `My Docs` gives `my-docs`."""
    key = slugify(path.name).replace("_", "-").strip("-")[:_MAX_KEY_CHARS].strip("-")
    # A name without Latin letters leaves nothing; the same folder has to give the same key again.
    return key or f"folder-{hashlib.blake2b(os.fsencode(path), digest_size=4).hexdigest()}"


def _request_sync(
    workspace: Workspace, asked: IngestRequest, kind: str, config: dict[str, Any], named: PurePath
) -> Job:
    source = _source_of(workspace, asked, kind, config, named)
    return sync_source(the_operator(workspace), source, version=asked.version, embed=asked.embed)


def _request_archive(workspace: Workspace, asked: IngestRequest, file: Path) -> Job:
    _check_size(file, "KEBAB_ARCHIVE_LIMIT_BYTES")
    folder = None if asked.as_root else normalise_path(archive_folder(file.name))
    operator = the_operator(workspace)
    with file.open("rb") as opened:
        check_archive(file.name, opened)  # before a source is made for it
        upload = ArchiveUpload(
            source=_upload_area(workspace, asked),
            name=file.name,
            folder=folder,
            version=asked.version,
            file=opened,
            stated=_stated(asked),
            embed=asked.embed,
        )
        return accept_archive(workspace, upload, reader=operator.reader, requested_by=operator.actor)


def _request_file(workspace: Workspace, asked: IngestRequest, file: Path) -> Job:
    _check_size(file, "KEBAB_UPLOAD_LIMIT_BYTES")
    operator = the_operator(workspace)
    path = normalise_path(file.name)  # before a source is made for it
    upload = Upload(
        source=_upload_area(workspace, asked),
        path=path,
        version=asked.version,
        content=file.read_bytes(),
        stated=_stated(asked),
        embed=asked.embed,
    )
    return accept_upload(workspace, upload, reader=operator.reader, requested_by=operator.actor).job


def _check_size(file: Path, setting: str) -> None:
    size_bytes, limit_bytes = file.stat().st_size, getattr(settings, setting)
    if size_bytes > limit_bytes:
        raise CliError(
            f"{file} has {size_bytes:,} bytes; {limit_bytes:,} are the limit ({setting}).", code="too_large"
        )


def _stated(asked: IngestRequest) -> dict[str, object]:
    stated = {"tags": list(asked.tags) or None, "trust_level": asked.trust}
    return {name: value for name, value in stated.items() if value is not None}


def _upload_area(workspace: Workspace, asked: IngestRequest) -> str:
    """Return the id of the upload source."""
    return str(_source_of(workspace, asked, SourceKind.UPLOAD, {}, PurePath(UPLOADS)).pk)


@transaction.atomic  # a restricted one was never open
def _source_of(
    workspace: Workspace, asked: IngestRequest, kind: str, config: dict[str, Any], named: PurePath
) -> Source:
    """Return the source that reads this already, or a new one, with what is said of it from now on."""
    source, is_new = _find_or_make(workspace, asked, kind, config, named)
    stated = _changes(source, asked)
    if is_new:
        audit.record(the_operator(workspace), "source.created", source.key, kind=kind, **config)
        if asked.readers is not None:
            stated["readers"] = groups_named(workspace, asked.readers)
    else:
        _check_readers(source, asked)
    if stated:
        restate_source(the_operator(workspace), source, stated)
    return source


def _find_or_make(
    workspace: Workspace, asked: IngestRequest, kind: str, config: dict[str, Any], named: PurePath
) -> tuple[Source, bool]:
    if asked.source is None and config:
        same = Source.objects.in_workspace(workspace).filter(kind=kind, config__contains=config)
        found = same.order_by("created_at").first()
        if found is not None:
            return found, False
    key = source_key(named) if asked.source is None else _checked_key(asked.source)
    return find_or_make_source(workspace, key, kind=kind, config=config)


def _changes(source: Source, asked: IngestRequest) -> dict[str, Any]:
    """Return what is to be said of the source and isn't yet; tags and trust of an upload are its own."""
    named: dict[str, Any] = {"watch": asked.watch}
    if source.kind != SourceKind.UPLOAD:
        named |= {"default_tags": list(asked.tags) or None, "default_trust": asked.trust}
    changed = {name: value for name, value in named.items() if value not in (None, getattr(source, name))}
    return changed if asked.credentials is None else {**changed, "credentials": asked.credentials}


def _check_readers(source: Source, asked: IngestRequest) -> None:
    """Raises CliError when others read the source than was asked for."""
    if asked.readers is None:
        return
    wanted = groups_named(source.workspace, asked.readers)
    known = reader_facts(source)["readers"]
    if known is None or {group["id"] for group in known} != {str(group) for group in wanted}:
        raise CliError(
            f"The source {source.key!r} is there already, with other readers; change them with:"
            f" kebab source restrict {source.key} --to ...",
            code="source_exists",
            exit_code=Exit.NOTHING,
        )


def _checked_key(key: str) -> str:
    if SLUG.regex.match(key) is None:
        raise CliError(f"{key[:100]!r} can't name a source. {SLUG.message}", code="invalid_slug")
    return key
