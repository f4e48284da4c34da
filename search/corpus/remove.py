"""Deleting documents: rows, chunks and vectors go in one transaction with the changes that say so."""

import uuid
from collections.abc import Sequence

from django.db import transaction

from kebab.people.models import Workspace
from search.corpus.changelog import append_changes
from search.models import Document


def delete_documents(workspace: Workspace, doc_ids: Sequence[uuid.UUID]) -> int | None:
    """Delete those of `doc_ids` that are there; give the change number, None when none was.

    Joins the caller's transaction or opens one. The database deletes chunks and vectors along.
    """
    with transaction.atomic():
        found = Document.objects.in_workspace(workspace).filter(doc_id__in=doc_ids)
        # In one order, like replacements: else two writers of the same documents could wait for each other.
        present = list(found.order_by("doc_id").select_for_update().values_list("doc_id", flat=True))
        if not present:
            return None
        Document.objects.in_workspace(workspace).filter(doc_id__in=present).delete()
        return append_changes(workspace.pk, present, "delete")
