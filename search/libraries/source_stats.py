"""What is known of a library and kept in its source: total of snippets, trust score, when it was indexed."""

import uuid
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from search.libraries.trust import trust_score
from search.models import Chunk, Document, Source, SourceState, SourceVersion

# Documents whose chunks are counted at once. In a join the planner takes a workspace that is new to its
# statistics for one row: 42,000 chunks took 16 s.
_AT_ONCE = 10_000
# An upload source with more uploads to come is counted after this: each count looks at all of its documents.
_COUNT_AFTER = timedelta(seconds=5)


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


def note_uploads(
    workspace_id: uuid.UUID, source_id: uuid.UUID, *, is_indexed: bool = True, more_follow: bool = False
) -> None:
    """Write how an upload source stands, and that it is indexed (`is_indexed`) once it holds a document.

    While more uploads follow it is counted every few seconds alone.
    """
    sources = Source.objects.in_workspace(workspace_id).filter(pk=source_id)
    counted_at = sources.values_list("last_indexed_at", flat=True).first()
    if more_follow and (not is_indexed or (counted_at and timezone.now() - counted_at < _COUNT_AFTER)):
        return
    documents = Document.objects.in_workspace(workspace_id).filter(source=source_id)
    indexed = {"state": SourceState.INDEXED, "last_indexed_at": timezone.now()}
    refresh_standing(workspace_id, source_id, **(indexed if is_indexed and documents.exists() else {}))


def _snippets_of_default_branch(source: Source) -> int:
    default = SourceVersion.objects.in_workspace(source.workspace_id).filter(source=source, tag="")
    documents = Document.objects.in_workspace(source.workspace_id).filter(version__in=list(default))
    pks = list(documents.values_list("pk", flat=True))
    return sum(
        _chunks_of(source.workspace_id, pks[at : at + _AT_ONCE]) for at in range(0, len(pks), _AT_ONCE)
    )


def _chunks_of(workspace_id: uuid.UUID, documents: Sequence[int]) -> int:
    return int(Chunk.objects.in_workspace(workspace_id).filter(document__in=documents).count())
