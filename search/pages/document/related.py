"""Related documents: the targets of a document's links, and its other versions."""

import posixpath
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from urllib.parse import unquote, urlsplit

from django.db.models import QuerySet
from django.urls import reverse

from kebab.identity.models import Workspace
from search.corpus.content_ids import document_id
from search.models import Document, SourceVersion

#: Endings that turn a link to a page of a built site into the path of its source file.
_ENDINGS = ("", ".md", ".mdx", "/index.md", "/README.md", "/index.mdx")
#: The most paths looked up for one page; a link has up to eight.
MAX_PATHS = 1_000
#: The most versions listed, newest first, in addition to the document's own.
MAX_VERSIONS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedDocuments:
    """The documents related to one, among those that the reader may see."""

    workspace: Workspace
    #: With its source and version loaded.
    document: Document
    #: All documents that the reader may see.
    readable: "QuerySet[Document]"

    def find_linked(self, links: Iterable[str]) -> dict[str, Document]:
        """Return the targets of relative links in the same source and version, by link."""
        candidates = {link: candidate_paths(self.document.path, link) for link in links}
        # the likeliest path of each link before any less likely one
        paths_in_order = dict.fromkeys(chain.from_iterable(zip_longest(*candidates.values())))
        paths_in_order.pop(None, None)
        found = self._documents_at(islice(paths_in_order, MAX_PATHS))
        return {
            link: next(found[path] for path in paths if path in found)
            for link, paths in candidates.items()
            if any(path in found for path in paths)
        }

    def versions(self) -> "list[Document]":
        """Return the documents at this path in all versions of the source, newest first, itself included."""
        versions = SourceVersion.objects.in_workspace(self.workspace).filter(source=self.document.source)
        tags = list(versions.order_by("-created_at", "tag").values_list("tag", flat=True)[:MAX_VERSIONS])
        own = self.document.version.tag
        ids = [self._document_id(tag, self.document.path) for tag in (tags if own in tags else (*tags, own))]
        found = {row.doc_id: row for row in self.readable.filter(doc_id__in=ids).select_related("version")}
        return [found[doc_id] for doc_id in ids if doc_id in found]

    def address(self, document: Document) -> str:
        """Return the address of a document's page."""
        return reverse("document", args=[self.workspace.slug, document.doc_id])

    def _documents_at(self, paths: Iterable[str]) -> dict[str, Document]:
        # by id: ids are indexed, and derived from the path
        ids = {self._document_id(self.document.version.tag, path) for path in paths}
        rows = self.readable.filter(doc_id__in=ids).only("doc_id", "path", "media", "mime") if ids else ()
        return {row.path: row for row in rows}

    def _document_id(self, tag: str, path: str) -> uuid.UUID:
        return document_id(self.workspace.corpus_id, self.document.source.key, tag, path)


def candidate_paths(path: str, link: str) -> tuple[str, ...]:
    """Return the paths that a relative link in the document at `path` may mean, likeliest first."""
    link_path = unquote(urlsplit(link).path)
    if not link_path or "\0" in link_path:
        return ()
    folder = "" if link_path.startswith("/") else posixpath.dirname(path)
    target = posixpath.normpath(posixpath.join(folder, link_path.lstrip("/")))
    if target.startswith(".."):
        return ()
    if target == ".":
        return tuple(ending.removeprefix("/") for ending in _ENDINGS if ending.startswith("/"))
    stem = target.removesuffix(".html")
    built = () if stem == target else (f"{stem}.md", f"{stem}.mdx")
    return (*(target + ending for ending in _ENDINGS), *built)
