"""What `kebab doctor` says about blobs: each document has its bytes, whole, and none is left over."""

import random
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import groupby
from operator import itemgetter

from django.utils import timezone

from ingest.blob_cleanup import release_blobs
from ingest.jobs.queue.retention import forgotten_blobs
from kebab.observability.health.checks import CheckResult, failed, repaired, well
from kebab.people.models import Workspace
from kebab.tenancy.current_workspace import acting_in
from search.corpus.blobs import blobs_before, has_blob, list_blobs, open_blob
from search.corpus.content_ids import file_hash
from search.models import Document

#: What these checks are called.
BLOBS = "blobs"
# Read and hashed in each look that isn't deep: a second or so.
_SAMPLE = 200
_SAMPLE_BYTES = 256_000_000
# The hourly task has had its chance by then.
_LEFT_AFTER = timedelta(hours=3)
_FROM_A_BACKUP = "Copy the bytes from a backup (docs/operations/backup.md), or put the documents in again."

Blob = tuple[uuid.UUID, str]


@dataclass(slots=True, kw_only=True)
class _Look:
    """What one look has come across."""

    is_deep: bool
    blobs: int = 0
    sample: list[Blob] = field(default_factory=list)

    def note(self, blobs: list[Blob]) -> None:
        """Count blobs that are there, and take some of them into the sample, each with the same chance."""
        for blob in blobs:
            self.blobs += 1
            if self.is_deep or len(self.sample) < _SAMPLE:
                self.sample.append(blob)
            elif (place := random.randrange(self.blobs)) < _SAMPLE:  # noqa: S311 - a sample, not a secret
                self.sample[place] = blob


def check_blobs(repair: bool) -> Iterator[CheckResult]:
    """Return whether each document has its bytes, whether a sample of them is whole, and what is
    left over.
    """
    yield from _check(_Look(is_deep=False), repair=repair)


def check_all_blobs(repair: bool) -> Iterator[CheckResult]:
    """Return the same, with the bytes of all of them read."""
    yield from _check(_Look(is_deep=True), repair=repair)


def _check(look: _Look, *, repair: bool) -> Iterator[CheckResult]:
    slugs = dict(Workspace.objects.values_list("pk", "slug"))
    seen = set()
    for workspace_id, needed in _needed():
        seen.add(workspace_id)
        yield from _compare(look, workspace_id, slugs.get(workspace_id, ""), needed, repair=repair)
    for workspace_id in slugs.keys() - seen:
        yield from _compare(look, workspace_id, slugs[workspace_id], set(), repair=repair)
    yield from _read(look, slugs)


def _needed() -> Iterator[tuple[uuid.UUID, set[str]]]:
    """Return each workspace that has documents with the hashes of their bytes, from one statement."""
    rows = Document.objects.order_by("workspace_id").values_list("workspace_id", "content_hash")
    for workspace_id, group in groupby(rows.iterator(chunk_size=5_000), itemgetter(0)):
        yield workspace_id, {hash_ for _, hash_ in group}


def _compare(
    look: _Look, workspace_id: uuid.UUID, slug: str, needed: set[str], *, repair: bool
) -> Iterator[CheckResult]:
    with acting_in(workspace_id):
        stored: set[str] = set().union(*list_blobs(workspace_id))
        look.note([(workspace_id, hash_) for hash_ in needed & stored])
        if missing := _still_missing(workspace_id, needed - stored):
            detail = f"the bytes of {_named(workspace_id, missing)} are not there"
            yield failed(f"{BLOBS} of {slug}", detail, _FROM_A_BACKUP)
        if left := _left(workspace_id, stored - needed):
            yield _left_over(workspace_id, slug, left, repair=repair)


def _still_missing(workspace_id: uuid.UUID, hashes: set[str]) -> set[str]:
    """Leave out what was put in or deleted while we looked."""
    documents = Document.objects.in_workspace(workspace_id).filter(content_hash__in=list(hashes))
    standing = set(documents.values_list("content_hash", flat=True)) if hashes else set()
    return {hash_ for hash_ in standing if not has_blob(workspace_id, hash_)}


def _left(workspace_id: uuid.UUID, hashes: set[str]) -> set[str]:
    forgotten = forgotten_blobs(workspace_id, hashes) if hashes else set()
    return blobs_before(workspace_id, forgotten, timezone.now() - _LEFT_AFTER)


def _left_over(workspace_id: uuid.UUID, slug: str, hashes: set[str], *, repair: bool) -> CheckResult:
    name, detail = f"{BLOBS} of {slug}", f"{len(hashes)} are kept for nothing"
    if not repair:
        return failed(name, detail, "Run: kebab doctor --repair")
    release_blobs(workspace_id, hashes, forgotten_blobs)
    return repaired(name, f"{detail}; deleted")


def _read(look: _Look, slugs: dict[uuid.UUID, str]) -> Iterator[CheckResult]:
    read, size_bytes = 0, 0
    for workspace_id, hash_ in look.sample:
        if not look.is_deep and size_bytes > _SAMPLE_BYTES:
            break
        found, size = _hash_of(workspace_id, hash_)
        read, size_bytes = read + 1, size_bytes + size
        if found != hash_:
            with acting_in(workspace_id):
                detail = f"the bytes of {_named(workspace_id, {hash_})} are not what was put in"
            yield failed(f"{BLOBS} of {slugs.get(workspace_id)}", detail, _FROM_A_BACKUP)
    yield well(BLOBS, f"{look.blobs:,} are there, {read:,} of them read and hashed")


def _hash_of(workspace_id: uuid.UUID, hash_: str) -> tuple[str, int]:
    """Return the hash of what is kept under a hash, and its size; what has just gone was whole."""
    try:
        with open_blob(workspace_id, hash_) as blob:
            return file_hash(blob), blob.tell()
    except FileNotFoundError:
        return hash_, 0


def _named(workspace_id: uuid.UUID, hashes: set[str]) -> str:
    documents = Document.objects.in_workspace(workspace_id).filter(content_hash__in=list(hashes))
    paths = list(documents.order_by("path").values_list("path", flat=True)[:3])
    return f"{documents.count()} documents ({', '.join(paths)})"
