"""Django admin of sources, versions, and documents with their passages."""

import uuid
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import unquote
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import BooleanRadioFilter, ChoicesDropdownFilter, TextFilter
from unfold.decorators import display

from kebab.admin import formatting
from kebab.admin.changelist import newest_window
from kebab.admin.pagination import CappedPaginator
from kebab.admin.site import site
from kebab.admin.tenants import IN_WORKSPACE, WORKSPACE_FILTER, TenantAdmin, chosen_workspace
from kebab.people.models import Workspace
from kebab.uuids import parse_uuid
from search.corpus.content_ids import document_id
from search.models import Chunk, Document, Source, SourceReader, SourceVersion

_IN_VERSION = "version"
# Versions listed on a source's page, and versions searched for a path.
_VERSIONS_SHOWN = 100
_VERSIONS_SOUGHT = 1_000
_PASSAGES_A_PAGE = 50
_SOURCE_STATES = {"indexed": "success", "indexing": "info", "error": "danger"}


@admin.register(Source, site=site)
class SourceAdmin(TenantAdmin):
    """Sources of documents. Their credentials are encrypted and never shown."""

    list_display = (
        "key",
        "in_workspace",
        "kind",
        "state_label",
        "is_restricted",
        "sync_failures",
        "last_indexed_at",
    )
    ordering = ("workspace_id", "key")
    list_filter: ClassVar[Any] = (
        WORKSPACE_FILTER,
        ("state", ChoicesDropdownFilter),
        ("kind", ChoicesDropdownFilter),
        ("is_restricted", BooleanRadioFilter),
    )
    search_fields = ("key",)
    search_help_text = "A key or an id; within a workspace, how a key begins"
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "key",
                    "in_workspace",
                    "id",
                    "kind",
                    "state_label",
                    "title",
                    "description",
                    "library_id",
                )
            },
        ),
        ("Reading", {"fields": ("readers_shown",)}),
        (
            "Syncing",
            {
                "fields": (
                    "config_shown",
                    "has_credentials",
                    "watch",
                    "sync_every_minutes",
                    "next_sync_at",
                    "last_sync_at",
                    "sync_failures",
                )
            },
        ),
        ("Documents", {"fields": ("default_trust", "default_tags", "last_indexed_at", "versions_shown")}),
        ("Project", {"fields": ("rules_shown", "project_shown")}),
    )

    @display(description="state", label=_SOURCE_STATES)
    def state_label(self, source: Source) -> str:
        """Return the state."""
        return source.state

    @admin.display(description="readers")
    def readers_shown(self, source: Source) -> Any:
        """Return the groups that may read the source, or "All members"."""
        if not source.is_restricted:
            return "All members"
        readers = SourceReader.objects.in_workspace(source.workspace_id).filter(source=source)
        return formatting.groups(readers, none="Nobody but owners and admins")

    @admin.display(description="configuration")
    def config_shown(self, source: Source) -> Any:
        """Return the source's configuration without what may be a secret."""
        return formatting.as_json(source.masked_config)

    @admin.display(description="credentials", boolean=True)
    def has_credentials(self, source: Source) -> bool:
        """Return whether the source has credentials."""
        return bool(source.sealed_credentials)

    @admin.display(description="versions")
    def versions_shown(self, source: Source) -> Any:
        """Return the source's first versions with links to their documents."""
        versions = SourceVersion.objects.in_workspace(source.workspace_id).filter(source=source)
        cells = [
            (formatting.link(version), version.commit[:12] or formatting.NONE, _documents_of(version))
            for version in versions.order_by("tag")[:_VERSIONS_SHOWN]
        ]
        return formatting.rows(cells, "Version", "Commit", "Documents")

    @admin.display(description="rules")
    def rules_shown(self, source: Source) -> Any:
        """Return the rules that tools receive first."""
        return formatting.as_json(source.rules)

    @admin.display(description="project file")
    def project_shown(self, source: Source) -> Any:
        """Return the contents of the project file."""
        return formatting.as_json(source.project)

    def find(self, request: HttpRequest, term: str) -> QuerySet[Source]:
        """Return the sources with this id or key; within a workspace, those whose key starts with `term`."""
        id_ = parse_uuid(term)
        if id_ is not None:
            return self.scoped_rows(request).filter(pk=id_)
        exactly = chosen_workspace(request) is None
        return self.scoped_rows(request).filter(**{"key" if exactly else "key__startswith": term.lower()})


@admin.register(SourceVersion, site=site)
class SourceVersionAdmin(TenantAdmin):
    """Versions of sources."""

    list_display = ("__str__", "of_source", "in_workspace", "commit", "documents", "created_at")
    list_select_related = ("workspace", "source")
    ordering = ("workspace_id", "source_id", "tag")
    fields = ("tag", "of_source", "in_workspace", "id", "title", "commit", "documents", "created_at")

    @admin.display(description="source")
    def of_source(self, version: SourceVersion) -> Any:
        """Return the source."""
        return formatting.link(version.source)

    @admin.display(description="documents")
    def documents(self, version: SourceVersion) -> Any:
        """Return a link to the version's documents."""
        return _documents_of(version)


class _VersionFilter(TextFilter):
    """Filter for the documents of one version, linked from sources and versions."""

    title = "version id"
    parameter_name = _IN_VERSION

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the documents of the version. Raises IncorrectLookupParameters for an invalid id."""
        if not self.value():
            return queryset
        version_id = parse_uuid(self.value() or "")
        if version_id is None:
            raise IncorrectLookupParameters
        return queryset.filter(version_id=version_id)


@admin.register(Document, site=site)
class DocumentAdmin(TenantAdmin):
    """Documents of one workspace at a time, newest first."""

    list_display = (
        "title_shown",
        "path_shown",
        "of_source",
        "version",
        "media",
        "trust_level",
        "size",
        "indexed_at",
    )
    list_select_related = ("workspace", "source", "version")
    ordering = ("-id",)
    window_by = "id"
    figures = ((_("Documents"), {}),)
    scopes: ClassVar[Mapping[str, str]] = {IN_WORKSPACE: "workspace_id", _IN_VERSION: "version_id"}
    list_filter: ClassVar[Any] = (
        WORKSPACE_FILTER,
        _VersionFilter,
        ("media", ChoicesDropdownFilter),
        ("trust_level", ChoicesDropdownFilter),
    )
    search_fields = ("title",)
    search_help_text = "A whole path, an id, or how a recent title begins"
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "title",
                    "path",
                    "doc_id",
                    "in_workspace",
                    "of_source",
                    "version",
                    "passages",
                    "indexed_at",
                )
            },
        ),
        (
            "What it is",
            {"fields": ("lang", "tags", "trust_level", "mime", "media", "size", "overrides_shown")},
        ),
        (
            "How it was read",
            {
                "fields": (
                    "content_hash",
                    "parser_version",
                    "chunker_version",
                    "source_revision",
                    "metadata_shown",
                )
            },
        ),
    )

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Show the list of the chosen workspace; redirect to the first workspace if none is chosen."""
        if chosen_workspace(request) is None:
            first = Workspace.objects.order_by("slug").first()
            if first is not None:
                chosen = {**request.GET.dict(), IN_WORKSPACE: str(first.pk)}
                return HttpResponseRedirect(f"{request.path}?{urlencode(chosen)}")
        return super().changelist_view(request, extra_context)

    def get_urls(self) -> list[URLPattern]:
        """Add the URL of a document's passages."""
        view = self.admin_site.admin_view(self.passages_view)
        return [
            path("<path:object_id>/passages/", view, name="search_document_passages"),
            *super().get_urls(),
        ]

    def passages_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show the chunks of a document in their order. Raises Http404."""
        document = self.get_object(request, unquote(object_id))
        if document is None or not self.has_view_permission(request, document):
            raise Http404
        chunks = Chunk.objects.in_workspace(document.workspace_id).filter(document=document)
        pages = CappedPaginator(chunks.order_by("ordinal", "chunk_id"), _PASSAGES_A_PAGE)
        context = {
            **self.admin_site.each_context(request),
            "title": f"Passages of {document}",
            "opts": self.opts,
            "document": document,
            "page": pages.get_page(request.GET.get("page")),
        }
        return TemplateResponse(request, "operating/passages.html", context)

    @admin.display(description="title")
    def title_shown(self, document: Document) -> str:
        """Return the title."""
        return formatting.truncate(document.title) or document.doc_id.hex

    @admin.display(description="path")
    def path_shown(self, document: Document) -> str:
        """Return the path."""
        return formatting.truncate(document.path)

    @admin.display(description="source")
    def of_source(self, document: Document) -> Any:
        """Return the source."""
        return formatting.link(document.source)

    @admin.display(description="size")
    def size(self, document: Document) -> str:
        """Return the size."""
        return formatting.size(document.size_bytes)

    @admin.display(description="passages")
    def passages(self, document: Document) -> Any:
        """Return a link to the document's chunks."""
        return formatting.anchor(reverse("admin:search_document_passages", args=(document.pk,)), "Show")

    @admin.display(description=_("edited by people"))
    def overrides_shown(self, document: Document) -> Any:
        """Return the properties that people have overridden."""
        return formatting.as_json(document.overrides)

    @admin.display(description="metadata")
    def metadata_shown(self, document: Document) -> Any:
        """Return the metadata that the parser found."""
        return formatting.as_json(document.metadata)

    def find(self, request: HttpRequest, term: str) -> QuerySet[Document]:
        """Return the document with this id, those at this path, else recent ones with this title prefix."""
        documents = self.scoped_rows(request)
        id_ = parse_uuid(term)
        if id_ is not None:
            return documents.filter(doc_id=id_)
        by_path = documents.filter(doc_id__in=_ids_at(chosen_workspace(request), term))
        if by_path.exists():
            return by_path
        # Under row-level security no index serves a prefix search.
        window = newest_window(documents, "id")
        return documents.filter(window or Q(), title__istartswith=" ".join(term.split()))


def _documents_of(version: SourceVersion) -> Any:
    chosen = {IN_WORKSPACE: str(version.workspace_id), _IN_VERSION: str(version.pk)}
    return formatting.anchor(f"{reverse('admin:search_document_changelist')}?{urlencode(chosen)}", "Show")


def _ids_at(workspace_id: uuid.UUID | None, path: str) -> list[uuid.UUID]:
    """Return the ids, derived from `path`, of the documents at `path` in all versions of the workspace."""
    workspace = None if workspace_id is None else Workspace.objects.filter(pk=workspace_id).first()
    if workspace is None:
        return []
    versions = SourceVersion.objects.in_workspace(workspace).values_list("source__key", "tag")
    return [document_id(workspace.corpus_id, key, tag, path) for key, tag in versions[:_VERSIONS_SOUGHT]]
