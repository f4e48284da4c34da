"""The documents beside one: those that its links name, and itself in other versions of its source."""

import posixpath
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from urllib.parse import unquote, urlsplit

from django.db.models import QuerySet
from django.urls import reverse

from kebab.people.models import Workspace
from search.corpus.content_ids import document_id
from search.models import Document, SourceVersion

#: A link to a page of a built site names the file that it was built from, more or less.
_ENDINGS = ("", ".md", ".mdx", "/index.md", "/README.md", "/index.mdx")
#: More paths are not looked up for one page; a link has up to eight.
MAX_PATHS = 1_000
#: The newest, of a source with more versions, beside the document's own.
MAX_VERSIONS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """What there is for a reader beside a document."""

    workspace: Workspace
    #: With its source and version.
    document: Document
    #: All that the reader may know of.
    readable: "QuerySet[Document]"

    def linked(self, links: Iterable[str]) -> dict[str, Document]:
        """Return the documents of the same source and version that relative links lead to, by link."""
        candidates = {link: candidate_paths(self.document.path, link) for link in links}
        # the likeliest of each link before any less likely one
        wanted = dict.fromkeys(chain.from_iterable(zip_longest(*candidates.values())))
        wanted.pop(None, None)
        there = self._at(islice(wanted, MAX_PATHS))
        return {
            link: next(there[path] for path in paths if path in there)
            for link, paths in candidates.items()
            if any(path in there for path in paths)
        }

    def versions(self) -> "list[Document]":
        """Return what is at the same path in the versions of the source, itself among it, newest first."""
        made = SourceVersion.objects.in_workspace(self.workspace).filter(source=self.document.source)
        tags = list(made.order_by("-created_at", "tag").values_list("tag", flat=True)[:MAX_VERSIONS])
        own = self.document.version.tag
        ids = [self._id(tag, self.document.path) for tag in (tags if own in tags else (*tags, own))]
        there = {row.doc_id: row for row in self.readable.filter(doc_id__in=ids).select_related("version")}
        return [there[doc_id] for doc_id in ids if doc_id in there]

    def address(self, document: Document) -> str:
        """Return the address of a document's page."""
        return reverse("document", args=[self.workspace.slug, document.doc_id])

    def _at(self, paths: Iterable[str]) -> dict[str, Document]:
        # by id: there is an index for it, and an id follows from the place
        ids = {self._id(self.document.version.tag, path) for path in paths}
        rows = self.readable.filter(doc_id__in=ids).only("doc_id", "path", "media", "mime") if ids else ()
        return {row.path: row for row in rows}

    def _id(self, tag: str, path: str) -> uuid.UUID:
        return document_id(self.workspace.corpus_id, self.document.source.key, tag, path)


def candidate_paths(path: str, link: str) -> tuple[str, ...]:
    """Return the paths that a relative link in the document at `path` may mean, likeliest first."""
    named = unquote(urlsplit(link).path)
    if not named or "\0" in named:
        return ()
    folder = "" if named.startswith("/") else posixpath.dirname(path)
    meant = posixpath.normpath(posixpath.join(folder, named.lstrip("/")))
    if meant.startswith(".."):
        return ()
    if meant == ".":
        return tuple(ending.removeprefix("/") for ending in _ENDINGS if ending.startswith("/"))
    stem = meant.removesuffix(".html")
    built = () if stem == meant else (f"{stem}.md", f"{stem}.mdx")
    return (*(meant + ending for ending in _ENDINGS), *built)
