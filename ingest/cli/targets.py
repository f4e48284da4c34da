"""What `kebab ingest PATH` names: a folder becomes a source, a file a document of an upload source."""

import hashlib
import os
from argparse import ArgumentTypeError
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils.text import slugify

from ingest.jobs.request import request_document, request_sync
from ingest.models import Job
from kebab.cli.errors import CliError
from kebab.people import audit
from kebab.people.models import Workspace
from kebab.people.models.workspace import SLUG
from search.blobs import keep_blob
from search.corpus import ensure_source
from search.models import Source, SourceKind
from search.paths import normalise_path

UPLOADS = "uploads"
_MAX_KEY_CHARS = 63


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRequest:
    """What is to be ingested, and how."""

    path: Path
    source: str | None = None
    tags: tuple[str, ...] = ()
    trust: str | None = None
    version: str = ""
    embed: bool = True

    @property
    def options(self) -> dict[str, object]:
        """Give what the job has to know beside its source."""
        return {**({"version": self.version} if self.version else {}), "embed": self.embed}


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
    return _request_folder(workspace, asked) if asked.path.is_dir() else _request_file(workspace, asked)


def source_key(path: Path) -> str:
    """Give the key that a folder's source gets from its name: `My Docs` gives `my-docs`."""
    key = slugify(path.name).replace("_", "-").strip("-")[:_MAX_KEY_CHARS].strip("-")
    # A name without Latin letters leaves nothing; the same folder has to give the same key again.
    return key or f"folder-{hashlib.blake2b(os.fsencode(path), digest_size=4).hexdigest()}"


def _request_folder(workspace: Workspace, asked: IngestRequest) -> Job:
    config = {"path": str(asked.path)}
    with transaction.atomic():
        source = _source_of_folder(workspace, asked, config)
        _set_defaults(source, asked)
    return request_sync(source, requested_by=audit.operator(), **asked.options)


def _source_of_folder(workspace: Workspace, asked: IngestRequest, config: dict[str, str]) -> Source:
    if asked.source is None:
        same = Source.objects.in_workspace(workspace).filter(kind=SourceKind.FOLDER, config=config)
        found = same.order_by("created_at").first()
        if found is not None:
            return found
    key = source_key(asked.path) if asked.source is None else _checked_key(asked.source)
    return _ensure(workspace, key, SourceKind.FOLDER, config)


def _request_file(workspace: Workspace, asked: IngestRequest) -> Job:
    size_bytes = asked.path.stat().st_size
    if size_bytes > settings.KEBAB_UPLOAD_LIMIT_BYTES:
        raise CliError(
            f"{asked.path} has {size_bytes:,} bytes; {settings.KEBAB_UPLOAD_LIMIT_BYTES:,} are the limit"
            " (KEBAB_UPLOAD_LIMIT_BYTES).",
            code="too_large",
        )
    stated = {"tags": list(asked.tags) or None, "trust_level": asked.trust}
    name = normalise_path(asked.path.name)
    key = UPLOADS if asked.source is None else _checked_key(asked.source)
    source = _ensure(workspace, key, SourceKind.UPLOAD, {})
    payload = {
        "path": name,
        "blob": keep_blob(workspace.pk, asked.path.read_bytes()),
        **{field: value for field, value in stated.items() if value is not None},
        **asked.options,
    }
    return request_document(source, payload, requested_by=audit.operator())


def _ensure(workspace: Workspace, key: str, kind: str, config: dict[str, str]) -> Source:
    is_known = Source.objects.in_workspace(workspace).filter(key=key).exists()
    source = ensure_source(workspace, key, kind=kind, config=config)
    if not is_known:
        audit.record_operator(workspace, "source.created", key, kind=kind, **config)
    return source


def _set_defaults(source: Source, asked: IngestRequest) -> None:
    """Let the source give its documents the tags and the trust level, as far as they were named."""
    stated = {"default_tags": list(asked.tags), "default_trust": asked.trust}
    changed = {name: value for name, value in stated.items() if value}
    if changed:
        Source.objects.in_workspace(source.workspace_id).filter(pk=source.pk).update(**changed)


def _checked_key(key: str) -> str:
    if SLUG.regex.match(key) is None:
        raise CliError(f"{key[:100]!r} can't name a source. {SLUG.message}", code="invalid_slug")
    return key
