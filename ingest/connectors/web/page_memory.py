"""What one crawl remembers of pages, and what it finds remembered."""

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Q

from ingest.blob_cleanup import release_blobs
from ingest.models import WebPage
from search.corpus.blobs import has_blob, keep_blobs, read_blob, secure_blobs
from search.corpus.content_ids import content_hash
from search.models import Document, Source

_MAX_ETAG_CHARS = 500
_MAX_LAST_MODIFIED_CHARS = 100


class PageMemory:
    """The pages of a source, seen by one job: what a worker that died had read need not be read again."""

    def __init__(self, source: Source, job_id: uuid.UUID) -> None:
        self._source = source
        self._job_id = job_id

    def documents(self) -> Iterable[tuple[str, str]]:
        """Return (address, content hash) of every document of the source, of all its versions."""
        documents = Document.objects.in_workspace(self._source.workspace_id).filter(source=self._source)
        return documents.order_by("pk").values_list("metadata__url", "content_hash")

    def find(self, key: str) -> WebPage | None:
        """Return what is remembered of a page."""
        return self._pages().filter(key=key).first()

    def is_fresh(self, page: WebPage) -> bool:
        """Return whether this job has asked for the page already, and what came is still there."""
        is_none = bool(page.error or page.leads_to or page.skipped)
        return page.seen_by == self._job_id and (is_none or self._has_its_bytes(page))

    def validators(self, page: WebPage | None) -> dict[str, str]:
        """Return the headers that ask whether the page has changed; none where its bytes are gone.

        What a server has sent in other than ASCII can't be sent back.
        """
        if page is None or not self._has_its_bytes(page):
            return {}
        headers = {"If-None-Match": page.etag, "If-Modified-Since": page.last_modified}
        return {name: value for name, value in headers.items() if value and value.isascii()}

    def remember(self, key: str, content: bytes | None, *, known: WebPage | None, **read: Any) -> WebPage:
        """Keep what was read of a page, `known` before; its bytes only when `content` is given."""
        kept = {} if content is None else {content_hash(content): content}
        keep_blobs(self._source.workspace_id, kept)
        etag, last_modified = read.pop("etag", ""), read.pop("last_modified", "")
        with transaction.atomic():
            secure_blobs(self._source.workspace_id, kept)
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
                    **read,
                    "etag": etag if len(etag) <= _MAX_ETAG_CHARS else "",
                    "last_modified": last_modified if len(last_modified) <= _MAX_LAST_MODIFIED_CHARS else "",
                    "content_hash": next(iter(kept), ""),
                    "size_bytes": 0 if content is None else len(content),
                    "is_listed": False,
                    "error": "",
                    "seen_by": self._job_id,
                },
            )
        if known is not None and known.content_hash not in kept:
            release_blobs(self._source.workspace_id, [known.content_hash])
        return page

    def confirm(self, page: WebPage, url: str) -> WebPage:
        """Note that the page is as it was."""
        self._change(page, url=url, is_listed=False, error="", seen_by=self._job_id)
        return page

    def note_failure(self, key: str, known: WebPage | None, *, url: str, path: str, error: str) -> WebPage:
        """Note why a page could not be read; what is remembered of it stays."""
        if known is None:
            known = self._pages().create(
                workspace_id=self._source.workspace_id, source=self._source, key=key, url=url, path=path
            )
        self._change(known, error=error[:500], leads_to="", skipped="", is_listed=False, seen_by=self._job_id)
        return known

    def note_listed(self, page: WebPage) -> None:
        """Note that the page is the document at its path."""
        self._change(page, is_listed=True)

    def read(self, path: str) -> tuple[WebPage, bytes]:
        """Return the page that is the document at `path`, and its bytes. Raises FileNotFoundError,
        OSError.
        """
        page = self._pages().filter(path=path, is_listed=True).first()
        if page is None:
            raise FileNotFoundError(path)
        if page.error:
            raise OSError(f"The site {page.error}.")
        return page, read_blob(self._source.workspace_id, page.content_hash)

    def forget_the_rest(self) -> None:
        """Forget what this job has not seen or what is no page, and the bytes of what is no document."""
        is_none = ~Q(leads_to="") | ~Q(skipped="")
        gone = self._pages().filter(~Q(seen_by=self._job_id) | Q(seen_by=None) | is_none)
        unlisted = self._pages().filter(seen_by=self._job_id, is_listed=False).exclude(content_hash="")
        hashes = {*_hashes(gone), *_hashes(unlisted)}
        gone.delete()
        unlisted.update(content_hash="", etag="", last_modified="")
        release_blobs(self._source.workspace_id, hashes)

    def _pages(self) -> Any:
        return WebPage.objects.in_workspace(self._source.workspace_id).filter(source=self._source)

    def _change(self, page: WebPage, **fields: Any) -> None:
        self._pages().filter(pk=page.pk).update(**fields)
        for name, value in fields.items():
            setattr(page, name, value)

    def _has_its_bytes(self, page: WebPage) -> bool:
        if page.is_noindex:
            return True
        return bool(page.content_hash) and has_blob(self._source.workspace_id, page.content_hash)


def _hashes(pages: Any) -> Sequence[str]:
    return list(pages.exclude(content_hash="").values_list("content_hash", flat=True))
