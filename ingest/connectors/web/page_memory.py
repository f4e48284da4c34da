"""Storage of pages between crawls: their headers, links and bytes."""

import uuid
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet, Sum

from ingest.blob_cleanup import release_blobs
from ingest.connectors.errors import ListingFailed
from ingest.connectors.web.addresses import Address, parse_address
from ingest.models import WebPage
from search.corpus.blobs import has_blob, lock_and_store_blobs, read_blob, store_blobs
from search.corpus.content_ids import content_hash
from search.models import Document, Source


class PageMemory:
    """Stored pages of a source, for one job: a resumed job need not request again what it has read."""

    def __init__(self, source: Source, job_id: uuid.UUID) -> None:
        self._source = source
        self._job_id = job_id

    def documents(self) -> Iterable[tuple[str, str]]:
        """Return (address, content hash) of every document in all versions of the source."""
        documents = Document.objects.in_workspace(self._source.workspace_id).filter(source=self._source)
        return documents.order_by("pk").values_list("metadata__url", "content_hash")

    def size_bytes(self) -> int:
        """Return the size of all that this job has stored."""
        stored = self._pages().filter(seen_by=self._job_id).aggregate(total=Sum("size_bytes"))
        return stored["total"] or 0

    def find(self, key: str) -> WebPage | None:
        """Return the stored page, None if there is none."""
        return self._pages().filter(key=key).first()

    def is_fresh(self, page: WebPage) -> bool:
        """Return whether this job has requested the page already, and its result is still stored."""
        is_none = bool(page.error or page.leads_to or page.skipped)
        return page.seen_by == self._job_id and (is_none or self.has_stored_bytes(page))

    def validators(self, page: WebPage | None) -> dict[str, str]:
        """Return the headers of a conditional request; none if the page's bytes or fingerprints are gone.

        Non-ASCII values of a server can't be sent back, and are left out.
        """
        if page is None or not page.fingerprints or not self.has_stored_bytes(page):
            return {}
        headers = {"If-None-Match": page.etag, "If-Modified-Since": page.last_modified}
        return {name: value for name, value in headers.items() if value and value.isascii()}

    def store(self, key: str, content: bytes | None, *, known: WebPage | None, **read: Any) -> WebPage:
        """Store a page, whose former row is `known`; its bytes only if `content` is given."""
        blobs = {} if content is None else {content_hash(content): content}
        store_blobs(self._source.workspace_id, blobs)
        with transaction.atomic():
            lock_and_store_blobs(self._source.workspace_id, blobs)
            page, _ = self._pages().update_or_create(
                workspace_id=self._source.workspace_id,
                source=self._source,
                key=key,
                defaults={
                    "leads_to": "",
                    "skipped": "",
                    "is_noindex": False,
                    "links": [],
                    "canonical": "",
                    "etag": "",
                    "last_modified": "",
                    "fingerprints": {},
                    **read,
                    "content_hash": next(iter(blobs), ""),
                    "size_bytes": 0 if content is None else len(content),
                    "is_listed": False,
                    "error": "",
                    "seen_by": self._job_id,
                },
            )
        if known is not None and known.content_hash not in blobs:
            release_blobs(self._source.workspace_id, [known.content_hash])
        return page

    def confirm_unchanged(self, page: WebPage, url: str, **read: Any) -> WebPage:
        """Record that the text of the page is unchanged, and what else was read; its bytes stay."""
        self._update_page(page, **read, url=url, is_listed=False, error="", seen_by=self._job_id)
        return page

    def texts(self) -> dict[str, str]:
        """Return the keys of stored pages by the fingerprint of their text."""
        stored = self._pages().filter(fingerprints__has_key="text").order_by("-key")
        return dict(stored.values_list("fingerprints__text", "key"))

    def record_failure(self, key: str, known: WebPage | None, *, url: str, path: str, error: str) -> WebPage:
        """Record why a page could not be read; its stored content stays."""
        if known is None:
            known = self._pages().create(
                workspace_id=self._source.workspace_id, source=self._source, key=key, url=url, path=path
            )
        self._update_page(
            known, error=error[:500], leads_to="", skipped="", is_listed=False, seen_by=self._job_id
        )
        return known

    def mark_listed(self, page: WebPage) -> None:
        """Record that the page is the document at its path."""
        self._update_page(page, is_listed=True)

    def read(self, path: str) -> tuple[WebPage, bytes]:
        """Return the page of the document at `path`, and its bytes. Raises FileNotFoundError, OSError."""
        page = self._pages().filter(path=path, is_listed=True).first()
        if page is None:
            raise FileNotFoundError(path)
        if page.error:
            raise OSError(f"The site {page.error}.")
        return page, read_blob(self._source.workspace_id, page.content_hash)

    def delete_unseen(self) -> None:
        """Delete rows not seen by this job or that are no page, and bytes of pages that are no document."""
        is_none = ~Q(leads_to="") | ~Q(skipped="")
        gone = self._pages().filter(~Q(seen_by=self._job_id) | Q(seen_by=None) | is_none)
        unlisted = self._pages().filter(seen_by=self._job_id, is_listed=False).exclude(content_hash="")
        hashes = {*_hashes(gone), *_hashes(unlisted)}
        gone.delete()
        unlisted.update(content_hash="", etag="", last_modified="")
        release_blobs(self._source.workspace_id, hashes)

    def _pages(self) -> "QuerySet[WebPage]":
        return WebPage.objects.in_workspace(self._source.workspace_id).filter(source=self._source)

    def _update_page(self, page: WebPage, **fields: Any) -> None:
        self._pages().filter(pk=page.pk).update(**fields)
        for name, value in fields.items():
            setattr(page, name, value)

    def has_stored_bytes(self, page: WebPage) -> bool:
        """Return whether the bytes of a page are there, if it has any."""
        if page.is_noindex:
            return True
        return bool(page.content_hash) and has_blob(self._source.workspace_id, page.content_hash)


def _hashes(pages: Any) -> Sequence[str]:
    return list(pages.exclude(content_hash="").values_list("content_hash", flat=True))


# So few pages may become equal: a site of this size is soon read again.
_FEW = 4


class KnownPages:
    """Indexed documents by address; `documents` gives (address, content hash) of each.

    A site under maintenance, or that requires a login, may answer every address with the same page, or
    redirect all to one: its responses must then not replace or delete anything.
    """

    def __init__(
        self, documents: Iterable[tuple[str | None, str]], parameters: Collection[str] | None
    ) -> None:
        self._hashes: dict[Address, set[str]] = defaultdict(set)
        for url, content in documents:
            address = parse_address(url or "", parameters=parameters)
            if address is not None:
                self._hashes[address].add(content)
        self._by_key = {address.key: hashes for address, hashes in self._hashes.items()}
        self._new_answers: Counter[str] = Counter()

    def addresses(self) -> list[Address]:
        """Return the documents' addresses, ordered by key."""
        return sorted(self._hashes, key=lambda address: address.key)

    def holds(self, address: Address) -> bool:
        """Return whether there is a document of this address."""
        return address.key in self._by_key

    def record(self, address: Address, answer: str, text: str = "") -> None:
        """Record the response of an address: hash and text of its content, or the target of its redirect."""
        before = self._by_key.get(address.key)
        if answer and before is not None and answer not in before:
            self._new_answers[text or answer] += 1

    def check_answers(self) -> None:
        """Raise ListingFailed when more than half of the documents' addresses have the same new response."""
        most = max(self._new_answers.values(), default=0)
        if most > max(_FEW, len(self._by_key) / 2):
            raise ListingFailed(
                f"{most} of the {len(self._by_key)} pages that were read before all show or lead to the same"
                " page now, as a site does that is closed or wants a login. Sync again when it answers as"
                " before; if it is meant to be so, delete the source and make it anew."
            )
