"""Marks of documents on their pages: outdated or verified."""

import re
import uuid

from django.contrib import messages
from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from ingest.api.documents.serializers import MARKS
from ingest.api.documents.views import CHANGE
from ingest.services.uploads import update_document
from kebab.identity.caller import Access
from kebab.pages.page import PostAction
from kebab.uuids import parse_uuid
from search.access.restrictions import visible_documents
from search.api.querysets import get_document
from search.models import Document
from search.models.document import MAX_PATH_CHARS
from search.retrieval.outdated import STATUS, SUPERSEDED_BY


@PostAction.of(need=CHANGE, tab="search")
def mark_document(page: PostAction, doc_id: uuid.UUID) -> HttpResponse:
    """Mark a document, or remove its mark with another `status`. Raises NotFound, Conflict, RateLimited."""
    access, form = page.access, page.request.POST
    document = get_document(access.workspace, access.reader, doc_id)
    status = form.get("status") if form.get("status") in MARKS else None
    named = form.get("successor", "").strip()[:MAX_PATH_CHARS] if status == "outdated" else ""
    successor = _find_page(access, named) if named else None
    if named and successor is None:
        messages.error(
            page.request, _("No document has this title, path or address: %(text)s") % {"text": named}
        )
    else:
        changes = {STATUS: status, SUPERSEDED_BY: successor and successor.doc_id.hex}
        update_document(document, changes, requested_by=access.actor)
        messages.success(page.request, _("Saved. Searches follow in a moment."))
    return redirect("document", access.workspace.slug, doc_id)


def _find_page(access: Access, named: str) -> Document | None:
    """Return the readable document of this title, path or address, the latest of several."""
    ids = [id_ for id_ in map(parse_uuid, re.findall(r"[0-9a-fA-F-]{32,36}", named)) if id_ is not None]
    documents = visible_documents(access.workspace, access.reader)
    found = documents.filter(Q(doc_id__in=ids) | Q(path=named) | Q(title_folded=named.lower()))
    return found.order_by("-dated_at", "id").first()
