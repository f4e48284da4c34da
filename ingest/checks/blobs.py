"""The check of `kebab doctor` for blobs: each document has its bytes, intact, and no blob is orphaned."""

import random
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import groupby
from operator import itemgetter

from django.utils import timezone

from ingest.blob_cleanup import release_blobs
from ingest.jobs.queue.retention import orphaned_blobs
from kebab.health.checks import CheckResult, failed_result, ok_result, repaired_result
from kebab.identity.models import Workspace
from kebab.tenancy.current_workspace import acting_in
from search.corpus.blobs import blobs_before, has_blob, list_blobs, open_blob
from search.corpus.content_ids import file_hash
from search.models import Document

#: Name of these checks.
BLOBS = "blobs"
# Blobs read and hashed by a check that isn't deep: about a second.
_SAMPLE = 200
_SAMPLE_BYTES = 256_000_000
# Older than the interval of the hourly task that deletes orphans.
_ORPHANED_AFTER = timedelta(hours=3)
_FROM_A_BACKUP = "Copy the bytes from a backup (docs/operations/backup.md), or put the documents in again."

Blob = tuple[uuid.UUID, str]


@dataclass(slots=True, kw_only=True)
class _BlobScan:
    """The state of one check: a count of blobs, and those to read."""

    is_deep: bool
    blobs: int = 0
    sample: list[Blob] = field(default_factory=list)

    def add(self, blobs: list[Blob]) -> None:
        """Count existing blobs and sample them, each with the same probability."""
        for blob in blobs:
            self.blobs += 1
            if self.is_deep or len(self.sample) < _SAMPLE:
                self.sample.append(blob)
            elif (place := random.randrange(self.blobs)) < _SAMPLE:  # noqa: S311 - a sample, not a secret
                self.sample[place] = blob


def check_blobs(repair: bool) -> Iterator[CheckResult]:
    """Check that each document has its bytes, that a sample of them is intact, and that none is orphaned."""
    yield from _check_blobs(_BlobScan(is_deep=False), repair=repair)


def check_all_blobs(repair: bool) -> Iterator[CheckResult]:
    """Check the same, reading the bytes of all blobs."""
    yield from _check_blobs(_BlobScan(is_deep=True), repair=repair)


def _check_blobs(scan: _BlobScan, *, repair: bool) -> Iterator[CheckResult]:
    slugs = dict(Workspace.objects.values_list("pk", "slug"))
    seen = set()
    for workspace_id, needed in _needed_hashes():
        seen.add(workspace_id)
        yield from _compare_workspace(scan, workspace_id, slugs.get(workspace_id, ""), needed, repair=repair)
    for workspace_id in slugs.keys() - seen:
        yield from _compare_workspace(scan, workspace_id, slugs[workspace_id], set(), repair=repair)
    yield from _verify_sample(scan, slugs)


def _needed_hashes() -> Iterator[tuple[uuid.UUID, set[str]]]:
    """Yield each workspace that has documents with the hashes of their bytes, from one statement."""
    rows = Document.objects.order_by("workspace_id").values_list("workspace_id", "content_hash")
    for workspace_id, group in groupby(rows.iterator(chunk_size=5_000), itemgetter(0)):
        yield workspace_id, {hash_ for _, hash_ in group}


def _compare_workspace(
    scan: _BlobScan, workspace_id: uuid.UUID, slug: str, needed: set[str], *, repair: bool
) -> Iterator[CheckResult]:
    with acting_in(workspace_id):
        stored: set[str] = set().union(*list_blobs(workspace_id))
        scan.add([(workspace_id, hash_) for hash_ in needed & stored])
        if missing := _confirm_missing(workspace_id, needed - stored):
            detail = f"the bytes of {_document_names(workspace_id, missing)} are not there"
            yield failed_result(f"{BLOBS} of {slug}", detail, _FROM_A_BACKUP)
        if orphans := _old_orphans(workspace_id, stored - needed):
            yield _orphan_result(workspace_id, slug, orphans, repair=repair)


def _confirm_missing(workspace_id: uuid.UUID, hashes: set[str]) -> set[str]:
    """Return the hashes still missing, without documents that were written or deleted meanwhile."""
    documents = Document.objects.in_workspace(workspace_id).filter(content_hash__in=list(hashes))
    current_hashes = set(documents.values_list("content_hash", flat=True)) if hashes else set()
    return {hash_ for hash_ in current_hashes if not has_blob(workspace_id, hash_)}


def _old_orphans(workspace_id: uuid.UUID, hashes: set[str]) -> set[str]:
    orphans = orphaned_blobs(workspace_id, hashes) if hashes else set()
    return blobs_before(workspace_id, orphans, timezone.now() - _ORPHANED_AFTER)


def _orphan_result(workspace_id: uuid.UUID, slug: str, hashes: set[str], *, repair: bool) -> CheckResult:
    name, detail = f"{BLOBS} of {slug}", f"{len(hashes)} are kept for nothing"
    if not repair:
        return failed_result(name, detail, "Run: kebab doctor --repair")
    release_blobs(workspace_id, hashes, orphaned_blobs)
    return repaired_result(name, f"{detail}; deleted")


def _verify_sample(scan: _BlobScan, slugs: dict[uuid.UUID, str]) -> Iterator[CheckResult]:
    read, size_bytes = 0, 0
    for workspace_id, hash_ in scan.sample:
        if not scan.is_deep and size_bytes > _SAMPLE_BYTES:
            break
        found, size = _hash_blob(workspace_id, hash_)
        read, size_bytes = read + 1, size_bytes + size
        if found != hash_:
            with acting_in(workspace_id):
                detail = f"the bytes of {_document_names(workspace_id, {hash_})} are not what was put in"
            yield failed_result(f"{BLOBS} of {slugs.get(workspace_id)}", detail, _FROM_A_BACKUP)
    yield ok_result(BLOBS, f"{scan.blobs:,} are there, {read:,} of them read and hashed")


def _hash_blob(workspace_id: uuid.UUID, hash_: str) -> tuple[str, int]:
    """Return the actual hash and size of a stored blob; one deleted meanwhile counts as intact."""
    try:
        with open_blob(workspace_id, hash_) as blob:
            return file_hash(blob), blob.tell()
    except FileNotFoundError:
        return hash_, 0


def _document_names(workspace_id: uuid.UUID, hashes: set[str]) -> str:
    documents = Document.objects.in_workspace(workspace_id).filter(content_hash__in=list(hashes))
    paths = list(documents.order_by("path").values_list("path", flat=True)[:3])
    return f"{documents.count()} documents ({', '.join(paths)})"
