"""Working off a job's items: attempts first, then parse beside write, then one transaction for several."""

import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Case, F, When

from ingest.chunking.types import chunker_version
from ingest.connectors.types import ItemContent
from ingest.errors import TurnOver
from ingest.jobs.items.batches import batched_by_size
from ingest.jobs.items.chunk_size import chunk_tokens_of
from ingest.jobs.items.drafts import parser_overrides
from ingest.jobs.items.parser_pool import digester_pool
from ingest.jobs.items.quarantine import KILLED, REASON, Quarantine
from ingest.jobs.items.reuse import find_twins, twin_digest
from ingest.jobs.items.writer import Begun, Finding, ItemWriter
from ingest.jobs.queue.context import Ending, Work
from ingest.models import ItemState, JobItem, Unreadable
from ingest.parsers.errors import IngestParseError, ParseRefused, Quarantined
from ingest.parsers.registry import is_current
from ingest.sandbox.types import Digest, Submission
from kebab.runtime import failpoints
from kebab.stack.storage.blob_storage import BlobsUnavailable
from kebab.stack.supervisor import worker_stop
from search.corpus import Place
from search.corpus.content_ids import content_hash
from search.models import Document, Source, SourceVersion

#: An item that was begun this often without an end is failed: it takes its worker down.
MAX_ITEM_ATTEMPTS = 5
# The fewer are begun at once, the fewer innocents share the blame for a crash.
_BATCH_BY_ATTEMPTS = (64, 8, 1)
# Innocents first; then the suspects one after the other, the one that is nearest its end first: many items
# that each take a worker down don't add up to a job without progress.
_SUSPICION = Case(When(attempts__gte=2, then=2 + MAX_ITEM_ATTEMPTS - F("attempts")), default=F("attempts"))
# What needs no parsing waits for company until it is so many, or so much.
_GATHERED = 64
_GATHERED_BYTES = 4_000_000
# A job makes room after this while other jobs wait.
_TURN_S = 10.0
# More than are ever begun and not ended.
_MOST_IN_HAND = 4_096

#: Gives an item's content. Raises FileNotFoundError, OSError.
ReadItem = Callable[[JobItem], ItemContent]


class ItemWorker:
    """Works off the items of one job against one version of its source."""

    def __init__(self, work: Work, source: Source, version: SourceVersion, read: ReadItem) -> None:
        self._work = work
        self._source = source
        self._version = version
        self._read_item = read
        self._chunk_tokens = chunk_tokens_of(work.workspace)
        self._quarantine = Quarantine(work)
        self._writer = ItemWriter(work, source, version)
        self._turn_ends_at = time.monotonic() + _TURN_S
        self._begun: deque[int] = deque(maxlen=_MOST_IN_HAND)

    def run(self) -> Ending:
        """Finish items until none is pending, the job is cancelled, others have waited, or the worker stops.

        Raises LeaseLost; TurnOver when the worker can't wait for what it has begun.
        """
        try:
            return self._run()
        except TurnOver:
            self._take_attempts_back()
            raise

    def _run(self) -> Ending:
        """Do it; deletions come last: a renamed file's new name takes the vectors of its old one over."""
        for action, finish in (("ingest", self._ingest), ("delete", self._delete)):
            while (first := self._pending(action).order_by(_SUSPICION, "id").first()) is not None:
                if (ending := self._reason_to_stop()) is not None:
                    return ending
                finish(first.attempts)
        return Ending.DONE

    def _reason_to_stop(self) -> Ending | None:
        if self._work.is_cancelled:
            return Ending.CANCELLED
        if worker_stop.is_asked():
            return Ending.YIELDED
        if time.monotonic() > self._turn_ends_at and self._work.others_wait(embedding=False):
            return Ending.YIELDED
        return None

    @transaction.atomic
    def _take_attempts_back(self) -> None:
        """Hold it against no item that it was begun and not ended: it took no worker down."""
        self._work.lease.write(current_path="")
        items = JobItem.objects.in_workspace(self._work.workspace)
        begun = items.filter(pk__in=list(self._begun), state=ItemState.PENDING)
        begun.update(attempts=F("attempts") - 1)

    def _pending(self, action: str) -> Any:
        items = JobItem.objects.in_workspace(self._work.workspace).filter(job=self._work.job.pk)
        return items.filter(state=ItemState.PENDING, action=action)

    def _batches(self, action: str, attempts: int) -> Iterator[list[JobItem]]:
        """Pending items that were begun so often, begun once more now; of suspects a single batch."""
        size = _BATCH_BY_ATTEMPTS[min(attempts, len(_BATCH_BY_ATTEMPTS) - 1)]
        pending = self._pending(action).filter(attempts=attempts).order_by("id")
        last = 0
        while batch := list(pending.filter(id__gt=last)[:size]):
            begun = JobItem.objects.in_workspace(self._work.workspace)
            begun.filter(pk__in=[item.pk for item in batch]).update(attempts=F("attempts") + 1)
            self._begun.extend(item.pk for item in batch)
            yield batch
            if attempts or self._reason_to_stop() is not None:
                return
            last = batch[-1].pk

    def _delete(self, attempts: int) -> None:
        for batch in self._batches("delete", attempts):
            self._writer.delete([(item, self._place(item.path)) for item in batch])

    def _ingest(self, attempts: int) -> None:
        if attempts >= MAX_ITEM_ATTEMPTS:
            self._give_up(attempts)
            return
        for digested in digester_pool().digest_groups(self._submissions(attempts), self._work.go_on):
            if self._work.is_cancelled:
                return
            failpoints.reached("after_parse")
            self._writer.write([self._finding(begun, outcome) for begun, outcome in digested])

    def _give_up(self, attempts: int) -> None:
        """Fail an item that takes its worker down, and remember its file; unread where that does so too."""
        detail = f"Given up after {MAX_ITEM_ATTEMPTS} attempts."
        for batch in self._batches("ingest", attempts):
            if attempts > MAX_ITEM_ATTEMPTS:
                self._writer.end_without_content(batch[0], "failed", KILLED, detail)
                continue
            for begun in self._read(batch):
                self._quarantine.add(begun.content_hash, begun.place.path, detail)
                self._writer.set_aside(
                    Finding(begun=begun, outcome="failed", reason=KILLED, detail=detail, calls=0)
                )

    def _submissions(self, attempts: int) -> Iterator[Submission]:
        """Return what has to be parsed; items that need no parsing are finished on the way."""
        for batch in self._batches("ingest", attempts):
            for gathered in batched_by_size(
                self._read(batch), _size_of, most=_GATHERED, most_bytes=_GATHERED_BYTES
            ):
                to_parse = self._finish_without_parsing(gathered)
                gathered.clear()  # contents are let go of one by one
                while to_parse:
                    yield self._submission(to_parse.pop())

    def _submission(self, begun: Begun) -> Submission:
        overrides = parser_overrides(begun.found.stated)
        return Submission(
            key=begun,
            content=begun.found.content,
            path=begun.place.path,
            overrides=overrides,
            chunk_tokens=self._chunk_tokens,
        )

    def _finish_without_parsing(self, gathered: Sequence[Begun]) -> list[Begun]:
        """Finish what stands, what a twin was parsed for, what is in quarantine; give the rest backwards."""
        known: list[Begun] = []
        unknown: list[Begun] = []
        for begun in gathered:
            (known if self._is_known(begun) else unknown).append(begun)
        self._quarantine.look_up(begun.content_hash for begun in unknown)
        findings, to_parse = [], list(self._writer.end_unchanged(known))
        for begun in unknown:
            finding = self._finding_without_parsing(begun)
            (to_parse if finding is None else findings).append(finding or begun)
        if findings:
            self._writer.write(findings)
        return to_parse[::-1]

    def _finding_without_parsing(self, begun: Begun) -> Finding | None:
        if not begun.found.content:
            return Finding(begun=begun, outcome="skipped", reason="empty", detail="It has 0 bytes.", calls=0)
        if (digest := self._twin_digest(begun)) is not None:
            return Finding(begun=begun, digest=digest, calls=0)
        if (reason := self._quarantine.reason(begun.content_hash, begun.place.path)) is not None:
            return Finding(begun=begun, outcome="failed", reason=REASON, detail=reason, calls=0)
        return None

    def _finding(self, begun: Begun, parsed: Digest | IngestParseError) -> Finding:
        if isinstance(parsed, ParseRefused):
            return Finding(begun=begun, outcome="skipped", reason=parsed.code, detail=parsed.detail)
        if isinstance(parsed, Quarantined):
            self._quarantine.add(begun.content_hash, begun.place.path, parsed.reason)
            return Finding(begun=begun, outcome="failed", reason=REASON, detail=parsed.reason)
        if isinstance(parsed, IngestParseError):
            raise parsed
        return Finding(begun=begun, digest=parsed)

    def _read(self, items: Sequence[JobItem]) -> Iterator[Begun]:
        places = {item.pk: self._place(item.path) for item in items}
        known = self._known([place.doc_id for place in places.values()])
        twins = find_twins(list(places.values()))
        unreadable = self._set_aside_paths([item.path for item in items])
        for item in items:
            try:
                found = self._read_item(item)
            except FileNotFoundError:
                gone = "It was listed, and gone when it was to be read."
                self._writer.end_without_content(item, "skipped", "vanished", gone)
                continue
            except BlobsUnavailable:
                raise  # the job waits for it
            except OSError as error:
                told = f"It can't be read: {error.strerror}." if error.strerror else str(error)
                self._writer.end_without_content(item, "failed", "unreadable", told)
                continue
            place = places[item.pk]
            yield Begun(
                item=item,
                place=place,
                found=found,
                content_hash=content_hash(found.content),
                known=known.get(place.doc_id),
                twins=twins.get(item.path, ()),
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
            and is_current(known.parser_version, begun.place.path)
            and known.chunker_version == chunker_version(self._chunk_tokens)
            and known.overrides == begun.found.stated
        )

    def _twin_digest(self, begun: Begun) -> Digest | None:
        return None if begun.found.stated else twin_digest(begun.place, begun.content_hash, begun.twins)


def _size_of(begun: Begun) -> int:
    return len(begun.found.content)
