"""The pages of sources, and the acts on one."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from ingest.api.querysets import listed_documents, one_source, readable_sources
from ingest.pages.rights import CHANGE, READ, may
from ingest.pages.sources.facts import facts_of, with_document_counts
from ingest.services.sources import delete_source, sync_source
from kebab.pages.page import Act, WorkspacePage
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
        may_change = may(self.access, CHANGE)
        return self.render(request, "ingest/sources.html", list=rows, may_change=may_change)


class SourcePage(WorkspacePage):
    """One source: what it is, what became of it, its documents."""

    need = READ
    tab = _TAB

    def show(self, request: HttpRequest, workspace: Workspace, source_id: uuid.UUID) -> HttpResponse:
        """Return the page; `path` narrows the documents to those whose path begins so. Raises NotFound."""
        source = one_source(self.access, source_id)
        path = request.GET.get("path", "")[:MAX_PATH_CHARS]
        asked = {"source": [str(source.pk)], "path_prefix": path}
        documents = list_page(self, request, listed_documents(self.access, asked), ordering=("path", "id"))
        context = {
            "source": source,
            "facts": facts_of(self.access, source),
            "list": documents,
            "path": path,
            "is_synced": source.kind != SourceKind.UPLOAD,
            "may_change": may(self.access, CHANGE),
        }
        return self.render(request, "ingest/source.html", **context)


class SourceSync(Act):
    """Reading a source again."""

    need = CHANGE
    tab = _TAB

    def act(self, request: HttpRequest, workspace: Workspace, source_id: uuid.UUID) -> HttpResponse:
        """Ask for the sync. Raises NotFound, Conflict."""
        source = one_source(self.access, source_id)
        job = sync_source(self.access, source)
        messages.success(request, f"{source.title or source.key} is being read; what changed is found soon.")
        return redirect("job", workspace.slug, job.pk)


class SourceDelete(Act):
    """Deleting a source with its documents."""

    need = CHANGE
    tab = _TAB

    def act(self, request: HttpRequest, workspace: Workspace, source_id: uuid.UUID) -> HttpResponse:
        """Ask for the deletion. Raises NotFound, Conflict."""
        source = one_source(self.access, source_id)
        delete_source(self.access, source)
        messages.success(request, f"{source.title or source.key} is being deleted with its documents.")
        return redirect("sources", workspace.slug)
