"""Sources, versions, documents and embedding spaces in the Django admin."""

from typing import Any, ClassVar
from urllib.parse import urlencode

from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import BooleanRadioFilter, ChoicesDropdownFilter, FieldTextFilter

from kebab.admin.changelist import IN_WORKSPACE, WORKSPACE_FILTER, TenantAdmin
from kebab.admin.site import site
from kebab.identity.models import Workspace
from search.models import Document, EmbeddingSpace, Source, SourceVersion


@admin.register(Source, site=site)
class SourceAdmin(TenantAdmin):
    """Sources of documents. Their credentials are encrypted and never shown."""

    list_display = ("key", "workspace", "kind", "state", "is_restricted", "sync_failures", "last_indexed_at")
    details = (
        "id",
        "title",
        "description",
        "library_id",
        "masked_config",
        "watch",
        "sync_every_minutes",
        "next_sync_at",
        "last_sync_at",
        "default_trust",
        "default_tags",
        "rules",
        "project",
    )
    ordering = ("workspace_id", "key")
    list_filter: ClassVar[Any] = (
        WORKSPACE_FILTER,
        ("state", ChoicesDropdownFilter),
        ("kind", ChoicesDropdownFilter),
        ("is_restricted", BooleanRadioFilter),
    )
    search_fields = ("key__startswith", "id")
    search_help_text = "How a key begins, or an id"


@admin.register(SourceVersion, site=site)
class SourceVersionAdmin(TenantAdmin):
    """Versions of sources."""

    list_display = ("__str__", "source", "workspace", "commit", "created_at")
    details = ("id", "title")
    list_select_related = ("workspace", "source")
    ordering = ("workspace_id", "source_id", "tag")


@admin.register(Document, site=site)
class DocumentAdmin(TenantAdmin):
    """Documents of one workspace at a time, newest first."""

    list_display = ("path", "title", "source", "version", "media", "trust_level", "size_bytes", "indexed_at")
    details = (
        "doc_id",
        "workspace",
        "lang",
        "tags",
        "author",
        "dated_at",
        "mime",
        "content_hash",
        "parser_version",
        "chunker_version",
        "source_revision",
        "overrides",
        "metadata",
    )
    list_select_related = ("workspace", "source", "version")
    ordering = ("-id",)
    window_by = "id"
    figures = ((_("Documents"), {}),)
    list_filter: ClassVar[Any] = (
        WORKSPACE_FILTER,
        ("path", FieldTextFilter),
        ("media", ChoicesDropdownFilter),
        ("trust_level", ChoicesDropdownFilter),
    )
    search_fields = ("doc_id",)
    search_help_text = "The id of a document"

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Show the list of the chosen workspace; redirect to the first workspace if none is chosen."""
        first = None if request.GET.get(IN_WORKSPACE) else Workspace.objects.order_by("slug").first()
        if first is not None:
            chosen = {**request.GET.dict(), IN_WORKSPACE: str(first.pk)}
            return HttpResponseRedirect(f"{request.path}?{urlencode(chosen)}")
        return super().changelist_view(request, extra_context)


@admin.register(EmbeddingSpace, site=site)
class EmbeddingSpaceAdmin(TenantAdmin):
    """Embedding spaces: the models that vectors were computed with."""

    list_display = ("model", "workspace", "state", "dim", "is_indexed", "epoch", "retire_at", "created_at")
    details = (
        "revision",
        "query_prefix",
        "passage_prefix",
        "languages",
        "known_share",
        "switches_by_itself",
        "held_because",
        "live_until",
    )
    ordering = ("workspace_id", "-id")
    list_filter: ClassVar[Any] = (WORKSPACE_FILTER, ("state", ChoicesDropdownFilter))
