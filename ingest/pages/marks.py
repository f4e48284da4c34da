"""Marks of documents on their pages: outdated or verified."""

import uuid

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from ingest.api.documents.serializers import MARKS
from ingest.api.documents.views import CHANGE
from ingest.services.uploads import update_document
from kebab.pages.page import PostAction
from search.access.restrictions import find_by_name, visible_documents
from search.api.querysets import get_document
from search.models.document import MAX_PATH_CHARS
from search.retrieval.outdated import STATUS, SUPERSEDED_BY


@PostAction.of(need=CHANGE, tab="search")
def mark_document(page: PostAction, doc_id: uuid.UUID) -> HttpResponse:
    """Mark a document, or remove its mark with another `status`. Raises NotFound, Conflict, RateLimited."""
    access, form = page.access, page.request.POST
    document = get_document(access.workspace, access.reader, doc_id)
    status = form.get("status") if form.get("status") in MARKS else None
    named = form.get("successor", "").strip()[:MAX_PATH_CHARS] if status == "outdated" else ""
    found = find_by_name(visible_documents(access.workspace, access.reader), [named])
    # Of several of this title the latest is meant.
    successor = max(found.get(named, ()), key=lambda each: (each.dated_at, -each.pk), default=None)
    if named and successor is None:
        messages.error(
            page.request, _("No document has this title, path or address: %(text)s") % {"text": named}
        )
    else:
        changes = {STATUS: status, SUPERSEDED_BY: successor and successor.doc_id.hex}
        update_document(document, changes, requested_by=access.actor)
        messages.success(page.request, _("Saved. Searches follow in a moment."))
    return redirect("document", access.workspace.slug, doc_id)
