"""What `kebab ingest PATH|URL` names: a folder, a repository or a site becomes a source, a file a document of
an upload source.
"""

import hashlib
import os
from argparse import ArgumentTypeError
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from django.conf import settings
from django.db import transaction
from django.utils.text import slugify

from ingest.archive_uploads import archive_folder, ask_for_archive, check_archive
from ingest.archives.names import is_archive
from ingest.cli.readers import groups_named, reader_facts
from ingest.cli.sites import SiteTarget, is_site_address, site_target
from ingest.connectors.git.address import GitAddress, check_address, file_url, is_git_address, read_address
from ingest.connectors.git.credentials import read_credentials, seal_credentials
from ingest.errors import AddressNotAllowed
from ingest.jobs.request import request_document, request_sync
from ingest.models import Job
from ingest.source_changes import restate_source
from ingest.sources import git_config
from kebab.cli.errors import CliError, Exit
from kebab.people import audit
from kebab.people.models import Workspace
from kebab.people.models.workspace import SLUG
from kebab.people.operator import the_operator
from search.blobs import keep_blob, secure_blobs
from search.corpus import ensure_source
from search.models import Source, SourceKind
from search.paths import normalise_path

UPLOADS = "uploads"
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

    @property
    def options(self) -> dict[str, object]:
        """Give what the job has to know beside its source."""
        return {**({"version": self.version} if self.version else {}), "embed": self.embed}


def target(text: str) -> Path | GitAddress | SiteTarget:
    """Give what `text` names: a `type` for arguments. Raises ArgumentTypeError."""
    if is_site_address(text):
        return site_target(text)
    if not is_git_address(text):
        return existing_path(text)
    try:
        address = read_address(text)
        check_address(address)
    except AddressNotAllowed as error:
        raise ArgumentTypeError(str(error)) from error
    if address.folder is None:
        return address
    return read_address(file_url(existing_path(str(address.folder))))


def existing_path(text: str) -> Path:
    """Give the folder or file that `text` names: a `type` for arguments. Raises ArgumentTypeError."""
    if "://" in text:
        raise ArgumentTypeError(f"{text[:200]!r} is an address; this version reads folders and files")
    path = Path(text).expanduser()
    try:
        resolved = path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise ArgumentTypeError(f"{str(path)!r} can't be found; give a folder or a file") from error
    if not (resolved.is_dir() or resolved.is_file()) or not os.access(resolved, os.R_OK):
        raise ArgumentTypeError(f"{str(resolved)!r} can't be read; give a folder or a file that may be")
    return resolved


def request_ingest(workspace: Workspace, asked: IngestRequest) -> Job:
    """Make or find the source and give the job. Raises CliError, SourceMismatch, InvalidPath."""
    if asked.watch and not (isinstance(asked.path, Path) and asked.path.is_dir()):
        raise CliError("Only a folder can be watched; leave out --watch.", code="invalid_request")
    if isinstance(asked.path, GitAddress):
        return _request_repository(workspace, asked, asked.path)
    if isinstance(asked.path, SiteTarget):
        return _request_site(workspace, asked, asked.path)
    if asked.path.is_dir():
        return _request_folder(workspace, asked, asked.path)
    if is_archive(asked.path.name):
        return _request_archive(workspace, asked, asked.path)
    return _request_file(workspace, asked, asked.path)


def source_key(path: PurePath) -> str:
    """Give the key that a source gets from its folder's or repository's name: `My Docs` gives `my-docs`."""
    key = slugify(path.name).replace("_", "-").strip("-")[:_MAX_KEY_CHARS].strip("-")
    # A name without Latin letters leaves nothing; the same folder has to give the same key again.
    return key or f"folder-{hashlib.blake2b(os.fsencode(path), digest_size=4).hexdigest()}"


def _request_folder(workspace: Workspace, asked: IngestRequest, folder: Path) -> Job:
    config = {"path": str(folder)}
    with transaction.atomic():
        source = _source_of(workspace, asked, SourceKind.FOLDER, config, folder)
        _set_defaults(source, asked)
    return request_sync(source, requested_by=audit.operator(), **asked.options)


def _request_repository(workspace: Workspace, asked: IngestRequest, address: GitAddress) -> Job:
    given = asked.credentials
    sealed = None if given is None else seal_credentials(read_credentials(given, address))
    with transaction.atomic():
        name = PurePath(address.name)
        source = _source_of(workspace, asked, SourceKind.GIT, git_config(address.url), name)
        _set_defaults(source, asked)
        if sealed is not None:
            rows = Source.objects.in_workspace(source.workspace_id).filter(pk=source.pk)
            rows.update(sealed_credentials=sealed)
            audit.record_operator(workspace, "source.changed", source.key, fields=["credentials"])
    return request_sync(source, requested_by=audit.operator(), **asked.options)


def _request_site(workspace: Workspace, asked: IngestRequest, site: SiteTarget) -> Job:
    with transaction.atomic():
        source = _source_of(workspace, asked, SourceKind.WEB, dict(site.config), PurePath(site.name))
        _set_defaults(source, asked)
    return request_sync(source, requested_by=audit.operator(), **asked.options)


def _source_of(
    workspace: Workspace, asked: IngestRequest, kind: str, config: dict[str, str], named: PurePath
) -> Source:
    """Give the source that reads this already, or a new one."""
    if asked.source is None:
        same = Source.objects.in_workspace(workspace).filter(kind=kind, config__contains=config)
        found = same.order_by("created_at").first()
        if found is not None:
            _check_readers(found, asked)
            return found
    key = source_key(named) if asked.source is None else _checked_key(asked.source)
    return _ensure(workspace, asked, key, kind, config)


def _request_archive(workspace: Workspace, asked: IngestRequest, file: Path) -> Job:
    _check_size(file, "KEBAB_ARCHIVE_LIMIT_BYTES")
    prefix = "" if asked.as_root else normalise_path(archive_folder(file.name)) + "/"
    with file.open("rb") as opened:
        check_archive(file.name, opened)
        payload = {"archive": file.name, "prefix": prefix, **_stated(asked), **asked.options}
        source = _upload_area(workspace, asked)
        return ask_for_archive(source, opened, payload, requested_by=audit.operator())


def _request_file(workspace: Workspace, asked: IngestRequest, file: Path) -> Job:
    _check_size(file, "KEBAB_UPLOAD_LIMIT_BYTES")
    name = normalise_path(file.name)
    source = _upload_area(workspace, asked)
    content = file.read_bytes()
    blob = keep_blob(workspace.pk, content)
    payload = {"path": name, "blob": blob, **_stated(asked), **asked.options}
    with transaction.atomic():
        secure_blobs(workspace.pk, [content])
        return request_document(source, payload, requested_by=audit.operator())


def _check_size(file: Path, setting: str) -> None:
    size_bytes, limit_bytes = file.stat().st_size, getattr(settings, setting)
    if size_bytes > limit_bytes:
        raise CliError(
            f"{file} has {size_bytes:,} bytes; {limit_bytes:,} are the limit ({setting}).", code="too_large"
        )


def _stated(asked: IngestRequest) -> dict[str, object]:
    stated = {"tags": list(asked.tags) or None, "trust_level": asked.trust}
    return {name: value for name, value in stated.items() if value is not None}


def _upload_area(workspace: Workspace, asked: IngestRequest) -> Source:
    key = UPLOADS if asked.source is None else _checked_key(asked.source)
    return _ensure(workspace, asked, key, SourceKind.UPLOAD, {})


def _ensure(
    workspace: Workspace, asked: IngestRequest, key: str, kind: str, config: dict[str, str]
) -> Source:
    is_known = Source.objects.in_workspace(workspace).filter(key=key).exists()
    with transaction.atomic():  # a restricted one was never open
        source = ensure_source(workspace, key, kind=kind, config=config)
        if is_known:
            _check_readers(source, asked)
            return source
        audit.record_operator(workspace, "source.created", key, kind=kind, **config)
        if asked.readers is not None:
            readers = groups_named(workspace, asked.readers)
            restate_source(the_operator(workspace), source, {"readers": readers})
    return source


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


def _set_defaults(source: Source, asked: IngestRequest) -> None:
    """Let the source give its documents the tags and the trust level, as far as they were named."""
    stated = {"default_tags": list(asked.tags), "default_trust": asked.trust}
    changed = {name: value for name, value in stated.items() if value}
    if asked.watch is not None:
        changed["watch"] = asked.watch
    if changed:
        Source.objects.in_workspace(source.workspace_id).filter(pk=source.pk).update(**changed)


def _checked_key(key: str) -> str:
    if SLUG.regex.match(key) is None:
        raise CliError(f"{key[:100]!r} can't name a source. {SLUG.message}", code="invalid_slug")
    return key
