"""The part of the access report on sources and documents."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kebab.identity.models import Group
from kebab.identity.reader import Reader
from kebab.people.access_report import MAX_ITEMS, ItemAccess, ReportRequest
from search.access.restrictions import annotate_readers, readers_of, visible_documents, visible_sources
from search.models import Document, Source

# The operations that decide whether a caller can see a source, and whether read its text.
_SEE_OPERATION = ("GET", "/sources/{source_id}")
_READ_OPERATION = ("GET", "/documents/{doc_id}")


def explain_access(request: ReportRequest) -> Sequence[ItemAccess]:
    """Return the caller's access to the requested document or source, or to all sources by key."""
    if request.document is not None:
        return _report_document(request, request.document)
    sources = annotate_readers(Source.objects.in_workspace(request.workspace)).order_by("key")
    if request.source is not None:
        sources = sources.filter(_match_source(request.source))
    return _report_sources(request, list(sources[: MAX_ITEMS + 1]))


def _report_sources(request: ReportRequest, sources: Sequence[Any]) -> list[ItemAccess]:
    readable = visible_sources(request.workspace, _reader(request)).filter(
        pk__in=[source.pk for source in sources]
    )
    ids = set(readable.order_by().values_list("pk", flat=True))
    builder = _ReportBuilder.create(request, sources)
    return [builder.source(source, is_readable=source.pk in ids) for source in sources]


def _report_document(request: ReportRequest, doc_id: uuid.UUID) -> list[ItemAccess]:
    document = Document.objects.in_workspace(request.workspace).filter(doc_id=doc_id).first()
    if document is None:
        return []
    source = annotate_readers(Source.objects.in_workspace(request.workspace)).get(pk=document.source_id)
    is_readable = visible_documents(request.workspace, _reader(request)).filter(pk=document.pk).exists()
    return [_ReportBuilder.create(request, [source]).document(document, source, is_readable=is_readable)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReportBuilder:
    """A builder of report items, with reasons."""

    request: ReportRequest
    #: The reasons why the caller may not see sources, and not search and read; empty if they may.
    see_refusal: str
    read_refusal: str
    #: Names of the groups that the sources are restricted to.
    names: Mapping[uuid.UUID, str]

    @classmethod
    def create(cls, request: ReportRequest, sources: Sequence[Any]) -> "_ReportBuilder":
        ids = {group for source in sources for group in readers_of(source) or ()}
        named = Group.objects.filter(workspace=request.workspace, pk__in=ids).values_list("pk", "name")
        return cls(
            request=request,
            see_refusal=request.operation_refusal(*_SEE_OPERATION),
            read_refusal=request.operation_refusal(*_READ_OPERATION),
            names=dict(named),
        )

    def source(self, source: Any, *, is_readable: bool) -> ItemAccess:
        return ItemAccess(
            kind="source",
            id=str(source.pk),
            name=source.key,
            is_visible=is_readable and not self.see_refusal,
            is_searchable=is_readable and not self.read_refusal,
            why=self._why(source, is_readable),
        )

    def document(self, document: Document, source: Any, *, is_readable: bool) -> ItemAccess:
        may_read = is_readable and not self.read_refusal
        return ItemAccess(
            kind="document",
            id=document.doc_id.hex,
            name=document.path,
            is_visible=may_read,
            is_searchable=may_read,
            why=_("In the source %(source)s.") % {"source": source.key}
            + f" {self._why(source, is_readable)}",
        )

    def _why(self, source: Any, is_readable: bool) -> str:
        if self.request.access is None:
            return self.request.barred
        refusals = dict.fromkeys((self.see_refusal, self.read_refusal)) if is_readable else {}
        return " ".join(filter(None, (self._describe_restriction(source, is_readable), *refusals)))

    def _describe_restriction(self, source: Any, is_readable: bool) -> str:
        readers = readers_of(source)
        if readers is None:
            return _("Open to all members.")
        if not readers:
            return _("Restricted, and no group reads it: only owners and admins do.")
        mine = _reader(self.request).groups.intersection(readers) if is_readable else ()
        if mine:
            sentence = _("Restricted to %(groups)s; is in %(mine)s.")
        elif is_readable:
            sentence = _("Restricted to %(groups)s; owners and admins read all.")
        else:
            sentence = ngettext(
                "Restricted to %(groups)s; is not in it.",
                "Restricted to %(groups)s; is in none of them.",
                len(readers),
            )
        return sentence % {"groups": self._join_names(readers), "mine": self._join_names(mine)}

    def _join_names(self, ids: Any) -> str:
        return ", ".join(sorted(self.names[group] for group in ids))


def _match_source(key_or_id: str) -> Q:
    try:
        return Q(key=key_or_id) | Q(pk=uuid.UUID(key_or_id))
    except ValueError:
        return Q(key=key_or_id)


def _reader(request: ReportRequest) -> Reader:
    return Reader() if request.access is None else request.access.reader
