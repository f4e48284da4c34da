"""Working off a job's items: attempts first, then parse beside write, then one transaction an item."""

import logging
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import DataError, transaction
from django.db.models import Case, F, When

from ingest.blobs import release_blobs
from ingest.chunking.types import CHUNKER_VERSION
from ingest.connectors.types import ItemContent, ItemReader
from ingest.errors import LeaseLost
from ingest.jobs.drafting import document_draft, parser_overrides
from ingest.jobs.parsing import digester_pool
from ingest.jobs.work import Ending, Work
from ingest.models import ItemState, JobItem, Unreadable
from ingest.parsers.errors import IngestParseError, ParseRefused, Quarantined
from ingest.parsers.registry import parser_version_for
from ingest.sandbox.types import Digest, Submission
from kebab import failpoints
from search.blobs import keep_blob
from search.corpus import Place, delete_documents, replace_document
from search.corpus.replace import Outcome
from search.identifiers import content_hash
from search.models import Document, Source, SourceVersion

logger = logging.getLogger(__name__)

#: An item that was begun this often without an end is failed: it takes its worker down.
MAX_ITEM_ATTEMPTS = 5
# The fewer are begun at once, the fewer innocents share the blame for a crash.
_BATCH_BY_ATTEMPTS = (64, 8, 1)
# Innocents first; then the suspects one after the other, the one that is nearest its end first: many items
# that each take a worker down don't add up to a job without progress.
_SUSPICION = Case(When(attempts__gte=2, then=2 + MAX_ITEM_ATTEMPTS - F("attempts")), default=F("attempts"))
# A job makes room after this while other jobs wait.
_TURN_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """An item under way."""

    item: JobItem
    place: Place
    found: ItemContent
    content_hash: str
    known: Document | None
    was_unreadable: bool


class ItemWorker:
    """Works off the items of one job against one version of its source."""

    def __init__(self, work: Work, source: Source, version: SourceVersion, reader: ItemReader) -> None:
        self._work = work
        self._source = source
        self._version = version
        self._reader = reader

    def run(self) -> Ending:
        """Finish items until none is pending, the job is cancelled, or others have waited long enough."""
        turn_ends_at = time.monotonic() + _TURN_S
        while batch := self._next_batch():
            if self._work.is_cancelled:
                return Ending.CANCELLED
            if time.monotonic() > turn_ends_at and self._work.others_wait(embedding=False):
                return Ending.YIELDED
            self._finish_batch(batch)
        return Ending.DONE

    def _items(self) -> Any:
        return JobItem.objects.in_workspace(self._work.workspace).filter(job=self._work.job.pk)

    def _next_batch(self) -> list[JobItem]:
        pending = self._items().filter(state=ItemState.PENDING).order_by(_SUSPICION, "id")
        first = pending.first()
        if first is None:
            return []
        size = _BATCH_BY_ATTEMPTS[min(first.attempts, len(_BATCH_BY_ATTEMPTS) - 1)]
        return list(pending.filter(attempts=first.attempts)[:size])

    def _finish_batch(self, batch: Sequence[JobItem]) -> None:
        if batch[0].attempts >= MAX_ITEM_ATTEMPTS:
            for item in batch:
                self._close(item, "failed", "killed_its_worker", f"Given up after {item.attempts} attempts.")
            return
        self._items().filter(pk__in=[item.pk for item in batch]).update(attempts=F("attempts") + 1)
        begun = self._begin([item for item in batch if item.action == "ingest"])
        for begin, digest in digester_pool().digest_many(begun):
            if self._work.is_cancelled:
                return
            failpoints.reached("after_parse")
            self._write(begin, digest)
        # Last, so that the new name of a renamed file takes over the vectors of its old one.
        for item in batch:
            if item.action == "delete":
                self._delete(item)

    def _begin(self, items: Sequence[JobItem]) -> Iterator[Submission]:
        """Read the items that need parsing; those that don't are finished here."""
        for begun in self._read(items):
            if self._is_known(begun) and self._finish_unchanged(begun):
                continue
            yield Submission(
                key=begun,
                content=begun.found.content,
                path=begun.place.path,
                overrides=parser_overrides(begun.found.stated, self._source),
            )

    def _read(self, items: Sequence[JobItem]) -> Iterator[Begun]:
        places = {item.pk: self._place(item.path) for item in items}
        known = self._known([place.doc_id for place in places.values()])
        unreadable = self._set_aside_paths([item.path for item in items])
        for item in items:
            try:
                found = self._reader.read(item.path)
            except FileNotFoundError:
                self._close(item, "skipped", "vanished", "It was listed, and gone when it was to be read.")
                continue
            except OSError as error:
                self._close(item, "failed", "unreadable", error.strerror or str(error))
                continue
            place = places[item.pk]
            yield Begun(
                item=item,
                place=place,
                found=found,
                content_hash=content_hash(found.content),
                known=known.get(place.doc_id),
                was_unreadable=item.path in unreadable,
            )

    def _place(self, path: str) -> Place:
        return Place(workspace=self._work.workspace, source=self._source, version=self._version, path=path)

    def _known(self, doc_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, Document]:
        documents = Document.objects.in_workspace(self._work.workspace).filter(doc_id__in=doc_ids)
        return {document.doc_id: document for document in documents}

    def _set_aside_paths(self, paths: Sequence[str]) -> set[str]:
        rows = Unreadable.objects.in_workspace(self._work.workspace)
        return set(rows.filter(version=self._version, path__in=paths).values_list("path", flat=True))

    def _is_known(self, begun: Begun) -> bool:
        known = begun.known
        return (
            known is not None
            and known.content_hash == begun.content_hash
            and known.parser_version == parser_version_for(begun.place.path)
            and known.chunker_version == CHUNKER_VERSION
            and known.overrides == begun.found.stated
        )

    def _finish_unchanged(self, begun: Begun) -> bool:
        """Finish an item that needs no parsing, unless its document has been rewritten since we looked."""
        documents = Document.objects.in_workspace(self._work.workspace)
        standing = documents.filter(doc_id=begun.place.doc_id, content_hash=begun.content_hash)
        with transaction.atomic():
            if not standing.update(
                source_mtime_ns=begun.found.mtime_ns,
                source_revision=begun.found.revision,
                requested_at=begun.found.requested_at,
            ):
                return False
            if begun.was_unreadable:
                self._unreadable(begun.place.path).delete()
            self._mark(begun.item, "unchanged")
            self._work.count_item(path=begun.item.path, size_bytes=len(begun.found.content))
        return True

    def _write(self, begun: Begun, digest: Digest | IngestParseError) -> None:
        if isinstance(digest, ParseRefused):
            self._set_aside(begun, "skipped", digest.code, digest.detail)
        elif isinstance(digest, Quarantined):
            self._set_aside(begun, "failed", "quarantined", digest.reason)
        elif isinstance(digest, IngestParseError):
            raise digest
        else:
            try:
                self._store(begun, digest)
            except DataError as error:  # a value that Postgres doesn't take is this document's fault alone
                self._set_aside(begun, "failed", "unstorable", str(error))

    def _store(self, begun: Begun, digest: Digest) -> None:
        draft = document_draft(
            digest, begun.found, content_hash=begun.content_hash, source=self._source, path=begun.place.path
        )

        def count(outcome: Outcome) -> None:
            failpoints.reached("after_chunks_before_commit")
            if begun.was_unreadable:
                self._unreadable(begun.place.path).delete()
            self._mark(begun.item, outcome)
            self._work.count_item(
                path=begun.item.path, size_bytes=draft.size_bytes, chunks=len(draft.chunks), calls=1
            )

        keep_blob(self._work.workspace.pk, begun.found.content)
        replace_document(begun.place, draft, count)
        failpoints.reached("after_commit_before_ack")
        keep_blob(self._work.workspace.pk, begun.found.content)
        if begun.known is not None and begun.known.content_hash != begun.content_hash:
            release_blobs(self._work.workspace.pk, [begun.known.content_hash])

    def _set_aside(self, begun: Begun, outcome: str, reason: str, detail: str) -> None:
        """Remember a file that can't be read, so that it is tried again only when something changes."""
        with transaction.atomic():
            Unreadable.objects.update_or_create(
                workspace=self._work.workspace,
                version=self._version,
                path=begun.place.path,
                defaults={
                    "size_bytes": len(begun.found.content),
                    "source_mtime_ns": begun.found.mtime_ns,
                    "source_revision": begun.found.revision,
                    "content_hash": begun.content_hash,
                    "parser_version": parser_version_for(begun.place.path),
                    "is_quarantined": outcome == "failed",
                    "reason": reason,
                    "detail": detail,
                },
            )
            self._close(begun.item, outcome, reason, detail, calls=1)
            if outcome == "skipped" and begun.known is not None:
                delete_documents(self._work.workspace, [begun.known.doc_id])
        if outcome == "skipped" and begun.known is not None:
            release_blobs(self._work.workspace.pk, [begun.known.content_hash])

    def _unreadable(self, path: str) -> Any:
        return Unreadable.objects.in_workspace(self._work.workspace).filter(version=self._version, path=path)

    def _delete(self, item: JobItem) -> None:
        doc_id = self._place(item.path).doc_id
        known = self._known([doc_id]).get(doc_id)
        with transaction.atomic():
            self._mark(item, "deleted" if known is not None else "")
            self._work.count_item(path=item.path)
            self._unreadable(item.path).delete()
            delete_documents(self._work.workspace, [doc_id])
        if known is not None:
            release_blobs(self._work.workspace.pk, [known.content_hash])

    def _close(self, item: JobItem, outcome: str, reason: str, detail: str, calls: int = 0) -> None:
        with transaction.atomic():
            self._mark(item, outcome, reason, detail)
            self._work.count_item(path=item.path, calls=calls)

    def _mark(self, item: JobItem, outcome: str, reason: str = "", detail: str = "") -> None:
        state = ItemState.FAILED if outcome == "failed" else ItemState.DONE
        marked = self._items().filter(pk=item.pk)
        if failpoints.is_on("fence"):
            marked = marked.filter(state=ItemState.PENDING)
        if not marked.update(state=state, outcome=outcome, reason=reason, detail=detail):
            raise LeaseLost(f"Item {item.path} was finished by another worker.")
