"""Addresses of documents' pages at a cited place."""

import uuid
from urllib.parse import urlencode

from django.urls import reverse

from kebab.identity.models import Workspace
from search.retrieval.citation import Citation


def place_path(
    workspace: Workspace,
    doc_id: uuid.UUID,
    citation: Citation | None,
    chunk_id: str | None = None,
    *,
    query: str = "",
) -> str:
    """Return path, query and fragment of the page: at the cited lines, else at the chunk, else its start.

    `query` is what else the page's query string has.
    """
    page = reverse("document", args=[workspace.slug, doc_id])
    place: dict[str, object] = {} if chunk_id is None else {"chunk": chunk_id}
    fragment = "" if chunk_id is None else f"#chunk-{chunk_id}"
    if citation is not None and citation.kind == "line":
        place = {"start": citation.start, "end": citation.end, **place}
        fragment = f"#L{citation.start}"
    wanted = "&".join(filter(None, (urlencode(place), query)))
    return f"{page}?{wanted}{fragment}" if wanted else page
