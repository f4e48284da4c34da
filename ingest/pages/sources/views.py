"""Pages of sources, and the actions on a source."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from ingest.api.querysets import filter_documents, get_source, readable_sources
from ingest.pages.rights import CHANGE, READ, is_allowed
from ingest.pages.sources.facts import source_facts, with_document_counts
from ingest.services.sources import delete_source, sync_source
from kebab.pages.page import PostAction, WorkspacePage
from kebab.pages.pagination import list_page
from kebab.people.models import Workspace
from search.models import SourceKind
from search.models.document import MAX_PATH_CHARS

_TAB = "sources"


class SourcesPage(WorkspacePage):
    """The sources of the workspace."""

    need = READ
    tab = _TAB

    def show(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the list, by key."""
        sources = with_document_counts(readable_sources(self.access))
        rows = list_page(self, request, sources, ordering=("key",))
        may_change = is_allowed(self.access, CHANGE)
        return self.render(request, "ingest/sources.html", list=rows, may_change=may_change)


class SourcePage(WorkspacePage):
    """One source: its properties, latest jobs and documents."""

    need = READ
    tab = _TAB

    def show(self, request: HttpRequest, workspace: Workspace, source_id: uuid.UUID) -> HttpResponse:
        """Return the page; `path` filters the documents by path prefix. Raises NotFound."""
        source = get_source(self.access, source_id)
        path = request.GET.get("path", "")[:MAX_PATH_CHARS]
        criteria = {"source": [str(source.pk)], "path_prefix": path}
        documents = list_page(self, request, filter_documents(self.access, criteria), ordering=("path", "id"))
        context = {
            "source": source,
            "facts": source_facts(self.access, source),
            "list": documents,
            "path": path,
            "is_synced": source.kind != SourceKind.UPLOAD,
            "may_change": is_allowed(self.access, CHANGE),
        }
        return self.render(request, "ingest/source.html", **context)


class SourceSync(PostAction):
    """Sync of a source."""

    need = CHANGE
    tab = _TAB

    def act(self, request: HttpRequest, workspace: Workspace, source_id: uuid.UUID) -> HttpResponse:
        """Request the sync. Raises NotFound, Conflict."""
        source = get_source(self.access, source_id)
        job = sync_source(self.access, source)
        messages.success(request, f"{source.title or source.key} is being read; what changed is found soon.")
        return redirect("job", workspace.slug, job.pk)


class SourceDelete(PostAction):
    """Deletion of a source with its documents."""

    need = CHANGE
    tab = _TAB

    def act(self, request: HttpRequest, workspace: Workspace, source_id: uuid.UUID) -> HttpResponse:
        """Request the deletion. Raises NotFound, Conflict."""
        source = get_source(self.access, source_id)
        delete_source(self.access, source)
        messages.success(request, f"{source.title or source.key} is being deleted with its documents.")
        return redirect("sources", workspace.slug)
