"""What is known of a library and kept in its source: total of snippets, trust score, when it was indexed."""

import uuid
from typing import Any

from django.db import transaction
from django.utils import timezone

from search.libraries.trust import trust_score
from search.models import Chunk, Document, Source, SourceState, SourceVersion


def refresh_standing(workspace_id: uuid.UUID, source_id: uuid.UUID, **changes: Any) -> None:
    """Write the source's total and trust score as the tables stand now, with `changes` to other fields.

    It counts and never adds up, behind the source's row lock: whoever writes last has seen every commit.
    """
    with transaction.atomic():
        sources = Source.objects.in_workspace(workspace_id).filter(pk=source_id)
        source = sources.select_for_update(no_key=True).first()
        if source is None:
            return
        found = {**changes, "total_snippets": _snippets_of_default_branch(source)}
        for name, value in found.items():
            setattr(source, name, value)
        sources.update(**found, trust_score=trust_score(source.standing))


def note_uploads(workspace_id: uuid.UUID, source_id: uuid.UUID) -> None:
    """Write that an upload source is indexed, once it holds a document."""
    if Document.objects.in_workspace(workspace_id).filter(source=source_id).exists():
        refresh_standing(workspace_id, source_id, state=SourceState.INDEXED, last_indexed_at=timezone.now())


def _snippets_of_default_branch(source: Source) -> int:
    default = SourceVersion.objects.in_workspace(source.workspace_id).filter(source=source, tag="")
    chunks = Chunk.objects.in_workspace(source.workspace_id).filter(
        document__workspace=source.workspace_id, document__version__in=default.values("pk")
    )
    return int(chunks.count())
