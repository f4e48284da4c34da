"""Outdated pages, and what replaces each, for a reader."""

import json
import time
import uuid
from collections.abc import Sequence
from typing import Any

import apsw
import numpy as np

from kebab.identity.models import Workspace
from search.access.scope import SearchScope
from search.engine.corpus import mirror_source
from search.mirror.files import MirrorError
from search.mirror.query.view import MirrorView
from search.models import Document
from search.retrieval.types import PageLink

_ROWS = "SELECT doc_id, doc FROM documents WHERE doc_id IN (SELECT value FROM json_each(?))"
_PAGES = "SELECT doc, doc_id, edition FROM documents WHERE doc IN (SELECT value FROM json_each(?))"


def find_outdated(
    workspace: Workspace, scope: SearchScope, doc_ids: Sequence[str]
) -> dict[str, PageLink | None]:
    """Return those of the documents that are outdated, each with what replaces it if the reader may read it.

    Without a mirror nothing is known to be outdated.
    """
    try:
        with mirror_source(workspace, scope).open_for_leg() as view:
            newer = _find_newer(view, doc_ids)
    except (MirrorError, apsw.InterruptError):
        return {}
    editions = dict(page for page in newer.values() if page is not None)
    documents = Document.objects.in_workspace(workspace).filter(doc_id__in=list(map(uuid.UUID, editions)))
    if scope.readable is not None:
        documents = documents.filter(source__pk__any_of=list(scope.readable.ids))
    links = {
        row.doc_id.hex: PageLink(
            doc_id=row.doc_id.hex, title=row.title, path=row.path, edition=editions[row.doc_id.hex]
        )
        for row in (documents if editions else ())
    }
    return {doc_id: page and links.get(page[0]) for doc_id, page in newer.items()}


def _find_newer(view: MirrorView, doc_ids: Sequence[str]) -> dict[str, tuple[str, str] | None]:
    """Return the id and the edition of what replaces each outdated document, None if that is unknown."""
    outdated = view.collection.outdated(view.connection)
    rows: list[Any] = view.connection.execute(_ROWS, (json.dumps(list(doc_ids)),)).fetchall()
    if not rows or not len(outdated.docs):
        return {}
    places = outdated.places(np.array([doc for _, doc in rows], np.int64), time.time()).tolist()
    placed = [(row[0], place) for row, place in zip(rows, places, strict=True) if place >= 0]
    newer = {doc_id: int(outdated.newer[place]) for doc_id, place in placed}
    pages: list[Any] = view.connection.execute(_PAGES, (json.dumps(list(newer.values())),)).fetchall()
    page_of = {doc: (newer_id, edition) for doc, newer_id, edition in pages}
    return {doc_id: page_of.get(doc) for doc_id, doc in newer.items()}
