"""The lists below an empty search box, and the documents that a person opened last."""

import uuid
from typing import Any, Final

from django.conf import settings
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from kebab.identity.caller import Access
from search.access.restrictions import visible_documents
from search.api.bookmarks import marked_documents
from search.models import Bookmark, Document
from search.notifications.saved_searches import own_searches, page_address
from search.pages.file_kind import file_kind

#: Entries of each list.
SHOWN: Final = 6
#: As many people must have bookmarked a popular document: then it names none of them.
MIN_PEOPLE: Final = 2
_COOKIE: Final = "kebab_recent"
_REMEMBERED: Final = 12
_MAX_AGE_S: Final = 90 * 86_400


def start_lists(access: Access, opened: list[uuid.UUID]) -> dict[str, Any]:
    """Return the lists of documents that the caller may read, and the caller's saved searches.

    Six statements at most, whatever the number of documents.
    """
    readable = visible_documents(access.workspace, access.reader).select_related("source")
    # In the order of an index; dates to come, which documents may state, aren't news.
    newest = readable.filter(dated_at__lte=timezone.now()).order_by("-dated_at", "-id")
    lists = (
        (_("Recently opened"), opened_documents(access, opened)),
        (_("Bookmarks"), marked_documents(access).order_by("-marked_at", "doc_id")[:SHOWN]),
        (_("New"), newest[:SHOWN]),
        (_("Popular"), _popular_documents(access)),
    )
    saved = own_searches(access).select_related("workspace").order_by("-created_at", "id")[:SHOWN]
    shown = [(label, [(row, file_kind(row.path)) for row in rows]) for label, rows in lists]
    return {
        "lists": [each for each in shown if each[1]],
        "saved": [(row, address) for row in saved if (address := page_address(row))],
    }


def opened_documents(access: Access, opened: list[uuid.UUID]) -> list[Document]:
    """Return those of the documents that are in the workspace and that the caller may read, in this order."""
    if not opened:
        return []
    readable = visible_documents(access.workspace, access.reader).select_related("source")
    found = readable.filter(doc_id__in=opened)
    return sorted(found, key=lambda row: opened.index(row.doc_id))[:SHOWN]


def _popular_documents(access: Access) -> list[Document]:
    """Return the documents that most people have bookmarked."""
    readable = visible_documents(access.workspace, access.reader)
    marks = Bookmark.objects.in_workspace(access.workspace).filter(document__in=readable.values("pk"))
    counted = marks.order_by().values("document").annotate(people=Count("*"))
    most = counted.filter(people__gte=MIN_PEOPLE).order_by("-people", "-document")[:SHOWN]
    ids = list(most.values_list("document", flat=True))
    found = readable.select_related("source").in_bulk(ids) if ids else {}
    return [found[pk] for pk in ids if pk in found]


def opened_ids(request: HttpRequest) -> list[uuid.UUID]:
    """Return what the person opened last in this browser, in any workspace, the latest first."""
    stored = request.get_signed_cookie(_COOKIE, default=None, salt=_salt(request))
    return [uuid.UUID(hex=each) for each in stored.split(".")] if stored else []


def remember_opened(request: HttpRequest, response: HttpResponse, doc_id: uuid.UUID) -> HttpResponse:
    """Store in the person's browser that the document was opened; return `response`."""
    others = (each for each in opened_ids(request) if each != doc_id)
    response.set_signed_cookie(
        _COOKIE,
        ".".join(each.hex for each in [doc_id, *others][:_REMEMBERED]),
        salt=_salt(request),
        max_age=_MAX_AGE_S,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    return response


def _salt(request: HttpRequest) -> str:
    """Return what makes the cookie that of one person: another in the same browser has none."""
    return f"kebab.recent:{request.user.pk}"
