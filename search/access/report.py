"""What the access simulator is told of sources and documents."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from kebab.people.access.report import MAX_THINGS, Asked, Thing
from kebab.people.models import Group
from kebab.people.reader import Reader
from search.access.querysets import documents_of, sources_of
from search.access.restrictions import readers_of, with_readers
from search.models import Document, Source

# What decides whether one meets a source at all, and whether its text.
_SEE = ("GET", "/sources/{source_id}")
_READ = ("GET", "/documents/{doc_id}")


def explain(asked: Asked) -> Sequence[Thing]:
    """Return how the document, the source or all sources, by key, are to the caller."""
    if asked.document is not None:
        return _document(asked, asked.document)
    sources = with_readers(Source.objects.in_workspace(asked.workspace)).order_by("key")
    if asked.source is not None:
        sources = sources.filter(_named(asked.source))
    return _sources(asked, list(sources[: MAX_THINGS + 1]))


def _sources(asked: Asked, sources: Sequence[Any]) -> list[Thing]:
    readable = sources_of(asked.workspace, _reader(asked)).filter(pk__in=[source.pk for source in sources])
    ids = set(readable.order_by().values_list("pk", flat=True))
    told = _Telling.of(asked, sources)
    return [told.source(source, is_readable=source.pk in ids) for source in sources]


def _document(asked: Asked, doc_id: uuid.UUID) -> list[Thing]:
    document = Document.objects.in_workspace(asked.workspace).filter(doc_id=doc_id).first()
    if document is None:
        return []
    source = with_readers(Source.objects.in_workspace(asked.workspace)).get(pk=document.source_id)
    is_readable = documents_of(asked.workspace, _reader(asked)).filter(pk=document.pk).exists()
    return [_Telling.of(asked, [source]).document(document, source, is_readable=is_readable)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Telling:
    """Puts into words how things are to the caller."""

    asked: Asked
    #: Why the caller may not look at sources, and not search and read; empty when they may.
    unseen: str
    unread: str
    #: Of the groups that the sources are restricted to.
    names: Mapping[uuid.UUID, str]

    @classmethod
    def of(cls, asked: Asked, sources: Sequence[Any]) -> "_Telling":
        ids = {group for source in sources for group in readers_of(source) or ()}
        named = Group.objects.filter(workspace=asked.workspace, pk__in=ids).values_list("pk", "name")
        return cls(
            asked=asked, unseen=asked.refusal_of(*_SEE), unread=asked.refusal_of(*_READ), names=dict(named)
        )

    def source(self, source: Any, *, is_readable: bool) -> Thing:
        return Thing(
            kind="source",
            id=str(source.pk),
            name=source.key,
            is_visible=is_readable and not self.unseen,
            is_searchable=is_readable and not self.unread,
            why=self._why(source, is_readable),
        )

    def document(self, document: Document, source: Any, *, is_readable: bool) -> Thing:
        may_read = is_readable and not self.unread
        return Thing(
            kind="document",
            id=document.doc_id.hex,
            name=document.path,
            is_visible=may_read,
            is_searchable=may_read,
            why=f"In the source {source.key}. {self._why(source, is_readable)}",
        )

    def _why(self, source: Any, is_readable: bool) -> str:
        if self.asked.access is None:
            return self.asked.barred
        refusals = dict.fromkeys((self.unseen, self.unread)) if is_readable else {}
        return " ".join(filter(None, (self._openness(source, is_readable), *refusals)))

    def _openness(self, source: Any, is_readable: bool) -> str:
        readers = readers_of(source)
        if readers is None:
            return "Open to all members."
        if not readers:
            return "Restricted, and no group reads it: only owners and admins do."
        mine = _reader(self.asked).groups.intersection(readers) if is_readable else ()
        if mine:
            standing = f"is in {self._named(mine)}"
        elif is_readable:
            standing = "owners and admins read all"
        else:
            standing = "is in none of them" if len(readers) > 1 else "is not in it"
        return f"Restricted to {self._named(readers)}; {standing}."

    def _named(self, ids: Any) -> str:
        return ", ".join(sorted(self.names[group] for group in ids))


def _named(key_or_id: str) -> Q:
    try:
        return Q(key=key_or_id) | Q(pk=uuid.UUID(key_or_id))
    except ValueError:
        return Q(key=key_or_id)


def _reader(asked: Asked) -> Reader:
    return Reader() if asked.access is None else asked.access.reader
