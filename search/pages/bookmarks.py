"""Bookmarks: the documents that a person has marked, and the buttons that mark them."""

import uuid
from collections.abc import Iterable

from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from kebab.identity.caller import Access, Need
from kebab.identity.models import Role, TokenScope, Workspace
from kebab.pages.page import PostAction, WorkspacePage, list_page
from search.api.bookmarks import marked_documents, own_bookmarks, set_bookmark
from search.pages.file_kind import file_kind

_READ = Need(role=Role.VIEWER, scope=TokenScope.SEARCH)


@WorkspacePage.of(need=_READ, tab="bookmarks")
def bookmarks_page(page: WorkspacePage) -> HttpResponse:
    """Return the documents that the person has bookmarked and may read, the latest bookmark first.

    Raises InvalidCursor.
    """
    rows = marked_documents(page.access)
    listed = list_page(page, page.request, rows, ordering=("-marked_at", "doc_id"))
    shown = [(document, file_kind(document.path)) for document in listed.rows]
    return page.render(page.request, "search/bookmarks.html", list=listed, rows=shown)


@PostAction.of(need=_READ, tab="bookmarks")
def bookmark(page: PostAction, doc_id: uuid.UUID) -> HttpResponse:
    """Set the bookmark, or remove it with `on=no`. Raises NotFound for a document that is not visible."""
    access = page.access
    set_bookmark(access, doc_id, is_set=page.request.GET.get("on") != "no")
    return HttpResponse(status=204) if page.request.htmx else redirect("bookmarks", access.workspace.slug)


def bookmarked(access: Access, doc_ids: Iterable[str]) -> set[str]:
    """Return those of the documents that the caller has bookmarked."""
    found = own_bookmarks(access).filter(document__doc_id__in=[uuid.UUID(hex=each) for each in doc_ids])
    return {each.hex for each in found.values_list("document__doc_id", flat=True)}


def bookmark_address(workspace: Workspace, doc_id: str, *, is_set: bool) -> str:
    """Return the address to which the button of a document posts: to remove its bookmark if it is set."""
    page = reverse("bookmark", args=[workspace.slug, uuid.UUID(hex=doc_id)])
    return f"{page}?on=no" if is_set else page
