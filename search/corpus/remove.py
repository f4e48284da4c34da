"""Deletion of documents: rows, chunks and vectors in one transaction with the log's changes."""

import uuid
from collections.abc import Sequence

from django.db import transaction

from kebab.identity.models import Workspace
from search.corpus.replace import append_changes
from search.models import Document


def delete_documents(workspace: Workspace, doc_ids: Sequence[uuid.UUID]) -> int | None:
    """Delete those of `doc_ids` that exist; return the last change number, None if none exists.

    Joins the caller's transaction or opens one. The database deletes chunks and vectors by cascade.
    """
    with transaction.atomic():
        found = Document.objects.in_workspace(workspace).filter(doc_id__in=doc_ids)
        # The lock order of replacements, to avoid deadlocks between writers of the same documents.
        present = list(found.order_by("doc_id").select_for_update().values_list("doc_id", flat=True))
        if not present:
            return None
        Document.objects.in_workspace(workspace).filter(doc_id__in=present).delete()
        return append_changes(workspace.pk, present, "delete")
