"""The item worker: counts attempts, parses while it writes, and stores several items per transaction."""

import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Case, F, When

from ingest.chunking.types import ChunkDraft, chunker_version, has_chunk_size
from ingest.connectors.errors import ContentArchived, SourceAway
from ingest.connectors.types import ItemContent
from ingest.connectors.walk_rules import SkipReason
from ingest.digest.pool import DigesterPool
from ingest.digest.types import Digest, Submission
from ingest.errors import JobYielded
from ingest.jobs.items.batches import batch_by_size
from ingest.jobs.items.chunk_size import chunk_tokens_of
from ingest.jobs.items.drafts import merge_stated, parser_overrides
from ingest.jobs.items.quarantine import KILLED, REASON, Quarantine
from ingest.jobs.items.writer import ItemResult, ItemWriter, StartedItem
from ingest.jobs.queue.context import Ending, JobContext
from ingest.models import ItemState, JobItem, JobKind, Unreadable
from ingest.parsers.errors import IngestParseError, ParseRefused, Quarantined
from ingest.parsers.registry import is_current
from ingest.parsers.types import is_media
from kebab.runtime import failpoints
from kebab.stack.storage.blob_storage import BlobsUnavailable
from search.corpus import DocumentLocation
from search.corpus.content_ids import content_hash, document_id
from search.models import Chunk, Document, Source, SourceVersion


def find_other_versions(places: Sequence[DocumentLocation]) -> Mapping[str, list[Document]]:
    """Return, by path, the documents of other versions at `places`, which are all of one source."""
    if not places:
        return {}
    first = places[0]
    versions = SourceVersion.objects.in_workspace(first.workspace).filter(source=first.source)
    tags = list(versions.exclude(pk=first.version.pk).values_list("tag", flat=True))
    corpus, key = first.workspace.corpus_id, first.source.key
    wanted = [document_id(corpus, key, tag, place.path) for tag in tags for place in places]
    found: dict[str, list[Document]] = {}
    for document in Document.objects.in_workspace(first.workspace).filter(doc_id__in=wanted):
        found.setdefault(document.path, []).append(document)
    return found


def reusable_digest(
    place: DocumentLocation, content_hash: str, candidates: Sequence[Document]
) -> Digest | None:
    """Return the digest that parsing the content at `place` would give, read from another version's document.

    Only documents without overrides qualify. The default tags that the source had when the document was
    parsed are included. None when no document qualifies.
    """
    same = {
        "content_hash": content_hash,
        "chunker_version": chunker_version(chunk_tokens_of(place.workspace)),
        "overrides": {},
    }
    for document in candidates:
        is_same = all(getattr(document, name) == value for name, value in same.items())
        if is_same and is_current(document.parser_version, place.path):
            return stored_digest(document)
    return None


def stored_digest(document: Document) -> Digest | None:
    """Return the digest that the document was written from; None if it has no chunks or was rewritten."""
    chunks = tuple(_chunk_draft(chunk) for chunk in _document_chunks(document))
    if not chunks or not is_media(document.media):
        return None  # an empty document, which is as cheap to parse, or one rewritten meanwhile
    return Digest(
        title=document.title,
        lang=document.lang,
        tags=tuple(document.tags),
        mime=document.mime,
        media=document.media,
        metadata=document.metadata,
        parser="",
        parser_version=document.parser_version,
        chunker_version=document.chunker_version,
        omissions=document.omissions,
        warnings=(),
        chunks=chunks,
    )


def _document_chunks(document: Document) -> Iterable[Chunk]:
    """Return the chunks; read in one statement, so that all belong to the content that was compared."""
    return (
        Chunk.objects.in_workspace(document.workspace_id)
        .filter(
            document=document.pk,
            document__workspace=document.workspace_id,
            document__content_hash=document.content_hash,
            document__parser_version=document.parser_version,
            document__chunker_version=document.chunker_version,
        )
        .order_by("ordinal")
    )


def _chunk_draft(chunk: Chunk) -> ChunkDraft:
    return ChunkDraft(
        ordinal=chunk.ordinal,
        kind="code" if chunk.kind == "code" else "info",
        language=chunk.language or None,
        heading_path=tuple(chunk.heading_path),
        breadcrumb=chunk.breadcrumb,
        section_label=chunk.section_label,
        text=chunk.text,
        plain=chunk.plain,
        spans=tuple(chunk.source_spans),
        token_count=chunk.token_count,
    )


#: An item that was started this often without an end has killed its worker each time, and fails.
MAX_ITEM_ATTEMPTS = 5
# Batch sizes by attempts: the smaller a batch, the fewer innocent items share the blame for a crash.
_BATCH_BY_ATTEMPTS = (64, 8, 1)
# Innocent items first, then suspects one by one, those with the most attempts first: so several items that
# each kill a worker don't add up to a job without progress.
_SUSPICION = Case(When(attempts__gte=2, then=2 + MAX_ITEM_ATTEMPTS - F("attempts")), default=F("attempts"))
# Items are grouped up to this number and size, so that those that need no parsing share a transaction.
_GROUP_ITEMS = 64
_GROUP_BYTES = 4_000_000
# A job yields after this time while other jobs wait.
_TURN_S = 10.0
# More than are ever started and unfinished at one time.
_MAX_STARTED = 4_096

#: Reads an item's content. Raises FileNotFoundError, OSError, SourceAway: no other item can be read either.
ReadItem = Callable[[JobItem], ItemContent]


class ItemWorker:
    """Worker for the items of one job, against one version of its source."""

    def __init__(self, context: JobContext, source: Source, version: SourceVersion, read: ReadItem) -> None:
        self._context = context
        self._source = source
        self._version = version
        self._read_item = read
        self._chunk_tokens = chunk_tokens_of(context.workspace)
        self._quarantine = Quarantine(context)
        self._writer = ItemWriter(context, source, version)
        self._turn_ends_at = time.monotonic() + _TURN_S
        self._started_ids: deque[int] = deque(maxlen=_MAX_STARTED)
        self._source_error: SourceAway | None = None

    def run(self) -> Ending:
        """Finish items until none is pending, the job is cancelled, others have waited, or the worker stops.

        Raises LeaseLost; JobYielded when the worker can't wait for the items it has started; SourceAway after
        the items that were read before.
        """
        try:
            # Deletions come last: a renamed file's new document takes over the vectors of the old one.
            for action, finish in (("ingest", self._ingest_items), ("delete", self._delete_items)):
                while (first := self._pending_items(action).order_by(_SUSPICION, "id").first()) is not None:
                    if (ending := self._reason_to_stop()) is not None:
                        return ending
                    finish(first.attempts)
                    if self._source_error is not None:
                        raise self._source_error
            return Ending.DONE
        except JobYielded:
            self._revert_attempts()
            raise

    def _reason_to_stop(self) -> Ending | None:
        if (ending := self._context.ending()) is not None:
            return ending
        if time.monotonic() > self._turn_ends_at and self._context.others_wait(embedding=False):
            return Ending.YIELDED
        return None

    @transaction.atomic
    def _revert_attempts(self) -> None:
        """Take back the attempts of started and unfinished items: none of them killed a worker."""
        self._context.lease.write(current_path="")
        items = JobItem.objects.in_workspace(self._context.workspace)
        started = items.filter(pk__in=list(self._started_ids), state=ItemState.PENDING)
        started.update(attempts=F("attempts") - 1)

    def _pending_items(self, action: str) -> Any:
        items = JobItem.objects.of_job(self._context.job)
        return items.filter(state=ItemState.PENDING, action=action)

    def _start_batches(self, action: str, attempts: int) -> Iterator[list[JobItem]]:
        """Yield batches of pending items with so many attempts, counting one more; one batch of suspects."""
        size = _BATCH_BY_ATTEMPTS[min(attempts, len(_BATCH_BY_ATTEMPTS) - 1)]
        pending = self._pending_items(action).filter(attempts=attempts).order_by("id")
        last = 0
        while batch := list(pending.filter(id__gt=last)[:size]):
            started = JobItem.objects.in_workspace(self._context.workspace)
            started.filter(pk__in=[item.pk for item in batch]).update(attempts=F("attempts") + 1)
            self._started_ids.extend(item.pk for item in batch)
            yield batch
            if attempts or self._source_error is not None or self._reason_to_stop() is not None:
                return
            last = batch[-1].pk

    def _delete_items(self, attempts: int) -> None:
        for batch in self._start_batches("delete", attempts):
            self._writer.delete([(item, self._place_at(item.path)) for item in batch])

    def _ingest_items(self, attempts: int) -> None:
        if attempts >= MAX_ITEM_ATTEMPTS:
            self._give_up(attempts)
            return
        for digested in digester_pool().digest_groups(
            self._submissions(attempts), self._context.raise_if_stopped
        ):
            if self._context.is_cancelled:
                return
            failpoints.reach("after_parse")
            self._writer.write([self._item_result(started, outcome) for started, outcome in digested])

    def _give_up(self, attempts: int) -> None:
        """Fail an item that kills its worker; quarantine its file unless reading alone kills the worker."""
        detail = f"Given up after {MAX_ITEM_ATTEMPTS} attempts."
        for batch in self._start_batches("ingest", attempts):
            if attempts > MAX_ITEM_ATTEMPTS:
                self._writer.end_without_content(batch[0], "failed", KILLED, detail)
                continue
            for started in self._read_items(batch):
                self._quarantine.add(started.content_hash, started.place.path, detail)
                self._writer.end_unreadable(
                    ItemResult(started=started, outcome="failed", reason=KILLED, detail=detail, calls=0)
                )

    def _submissions(self, attempts: int) -> Iterator[Submission]:
        """Yield the items that need parsing; finish those that don't."""
        for batch in self._start_batches("ingest", attempts):
            for group in batch_by_size(
                self._read_items(batch), _size_of, most=_GROUP_ITEMS, most_bytes=_GROUP_BYTES
            ):
                to_parse = self._finish_without_parsing(group)
                group.clear()  # frees each content once it is submitted
                while to_parse:
                    yield self._build_submission(to_parse.pop())

    def _build_submission(self, started: StartedItem) -> Submission:
        overrides = parser_overrides(started.found.stated)
        return Submission(
            key=started,
            content=started.found.content,
            path=started.place.path,
            overrides=overrides,
            chunk_tokens=self._chunk_tokens,
        )

    def _finish_without_parsing(self, group: Sequence[StartedItem]) -> list[StartedItem]:
        """Finish items that are unchanged, reusable or in quarantine; return the others in reverse order."""
        known: list[StartedItem] = []
        unknown: list[StartedItem] = []
        for started in group:
            (known if self._is_unchanged(started) else unknown).append(started)
        self._quarantine.look_up(started.content_hash for started in unknown)
        results: list[ItemResult] = []
        to_parse = list(self._writer.end_unchanged(known))
        for started in unknown:
            result = self._result_without_parsing(started)
            if result is None:
                to_parse.append(started)
            else:
                results.append(result)
        if results:
            self._writer.write(results)
        return to_parse[::-1]

    def _result_without_parsing(self, started: StartedItem) -> ItemResult | None:
        if not started.found.content:
            return ItemResult(
                started=started, outcome="skipped", reason="empty", detail="It has 0 bytes.", calls=0
            )
        if (digest := self._reusable_digest(started)) is not None:
            return ItemResult(started=started, digest=digest, calls=0)
        if (reason := self._quarantine.reason(started.content_hash, started.place.path)) is not None:
            return ItemResult(started=started, outcome="failed", reason=REASON, detail=reason, calls=0)
        return None

    def _item_result(self, started: StartedItem, parsed: Digest | IngestParseError) -> ItemResult:
        if isinstance(parsed, ParseRefused):
            return ItemResult(started=started, outcome="skipped", reason=parsed.code, detail=parsed.detail)
        if isinstance(parsed, Quarantined):
            self._quarantine.add(started.content_hash, started.place.path, parsed.reason)
            return ItemResult(started=started, outcome="failed", reason=REASON, detail=parsed.reason)
        if isinstance(parsed, IngestParseError):
            raise parsed
        return ItemResult(started=started, digest=parsed)

    def _read_items(self, items: Sequence[JobItem]) -> Iterator[StartedItem]:
        places = {item.pk: self._place_at(item.path) for item in items}
        known = self._indexed_documents([place.doc_id for place in places.values()])
        other_versions = find_other_versions(list(places.values()))
        unreadable = self._unreadable_paths([item.path for item in items])
        for item in items:
            try:
                found = self._read_item(item)
            except FileNotFoundError:
                gone = "It was listed, but gone before it could be read."
                self._writer.end_without_content(item, "skipped", "vanished", gone)
                continue
            except ContentArchived as error:
                self._writer.end_without_content(item, "skipped", SkipReason.ARCHIVED, str(error))
                continue
            except BlobsUnavailable:
                raise  # the job waits for it
            except SourceAway as error:
                self._source_error = error
                return
            except OSError as error:
                detail = f"It can't be read: {error.strerror}." if error.strerror else str(error)
                self._writer.end_without_content(item, "failed", "unreadable", detail)
                continue
            place = places[item.pk]
            document = known.get(place.doc_id)
            yield StartedItem(
                item=item,
                place=place,
                found=replace(found, stated=merge_stated(document, found.stated)),
                content_hash=content_hash(found.content),
                known=document,
                other_versions=other_versions.get(item.path, ()),
                was_unreadable=item.path in unreadable,
            )

    def _place_at(self, path: str) -> DocumentLocation:
        return DocumentLocation(
            workspace=self._context.workspace, source=self._source, version=self._version, path=path
        )

    def _indexed_documents(self, doc_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, Document]:
        documents = Document.objects.in_workspace(self._context.workspace).filter(doc_id__in=doc_ids)
        return {document.doc_id: document for document in documents}

    def _unreadable_paths(self, paths: Sequence[str]) -> set[str]:
        rows = Unreadable.objects.in_workspace(self._context.workspace)
        return set(rows.filter(version=self._version, path__in=paths).values_list("path", flat=True))

    def _is_unchanged(self, started: StartedItem) -> bool:
        known = started.known
        return (
            known is not None
            and known.content_hash == started.content_hash
            and is_current(known.parser_version, started.place.path)
            and self._keeps_chunks(known)
            and known.overrides == started.found.stated
        )

    def _keeps_chunks(self, known: Document) -> bool:
        """Return whether the document's chunks stay: only rechunking replaces those of another chunker."""
        if self._context.job.kind == JobKind.RECHUNK:
            return known.chunker_version == chunker_version(self._chunk_tokens)
        return has_chunk_size(known.chunker_version, self._chunk_tokens)

    def _reusable_digest(self, started: StartedItem) -> Digest | None:
        return (
            None
            if started.found.stated
            else reusable_digest(started.place, started.content_hash, started.other_versions)
        )


def _size_of(started: StartedItem) -> int:
    return len(started.found.content)


@cache
def digester_pool() -> DigesterPool:
    """Return the pool of this process; its parsers start when first needed and end with the process."""
    return DigesterPool(settings.KEBAB_PARSERS)
