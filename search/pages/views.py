"""The pages: home, search, document."""

import uuid

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from kebab.api.errors import NotFound, Problem
from kebab.people.models import Workspace
from search.engine import search
from search.models import Document
from search.pages.asked import Asked
from search.pages.hits import shown_hits
from search.pages.page import Page, WorkspacePage, told
from search.pages.reading import Cited, read_document


class HomePage(Page):
    """The workspaces of the person; who has one is taken there."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Give the list, or the way to the only one."""
        workspaces = list(Workspace.objects.of_member(request.user))  # type: ignore[arg-type]
        if len(workspaces) == 1:
            return redirect("search", workspaces[0].slug)
        return render(request, "search/home.html", {"workspaces": workspaces})


class SearchPage(WorkspacePage):
    """The search box, and the hits once something was asked."""

    def show(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Give the page. Raises SearchError, which `refusal` shows above the same form."""
        asked = Asked.in_address(request.GET)
        result = None if asked.is_blank else search(workspace, asked.query())
        hits = () if result is None else shown_hits(workspace, asked, result.hits)
        context = {"workspace": workspace, "asked": asked, "result": result, "hits": hits}
        return render(request, "search/search.html", context)

    def refusal(self, request: HttpRequest, problem: Problem) -> HttpResponse:
        """Give the search box again, with what was wrong."""
        if self.workspace is None:
            return super().refusal(request, problem)
        asked = Asked.in_address(request.GET)
        context = {"workspace": self.workspace, "asked": asked, "problem": problem}
        return told(render(request, "search/search.html", context), problem)


class DocumentPage(WorkspacePage):
    """A document's text with the cited lines marked."""

    def show(self, request: HttpRequest, workspace: Workspace, doc_id: uuid.UUID) -> HttpResponse:
        """Give the page. Raises NotFound."""
        documents = Document.objects.in_workspace(workspace).filter(doc_id=doc_id)
        document = documents.select_related("source", "version").first()
        if document is None:
            raise NotFound
        context = {
            "workspace": workspace,
            "asked": Asked.in_address(request.GET),
            "document": document,
            "reading": read_document(document, Cited.in_address(request.GET)),
        }
        return render(request, "search/document.html", context)
