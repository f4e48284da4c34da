"""The chunks and documents that a pack may hold: under the workspace, rights and filters of its search."""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Final

from django.db.models import F, Func, Q, QuerySet, TextField, Value

from search.access.scope import Scope, chunks_in
from search.context.imports import SOURCE_ROOT, Import
from search.models import Chunk, Document

# Of all imports of all hits in one place, so many paths and folders are looked for.
_MAX_CANDIDATES: Final = 5_000
_MAX_DOCUMENTS: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A version of a source, in which files import each other."""

    source_id: uuid.UUID
    version_id: uuid.UUID

    @classmethod
    def of(cls, chunk: Chunk) -> "Place":
        """Return where the chunk's document is."""
        return cls(source_id=chunk.document.source_id, version_id=chunk.document.version_id)


def standing_chunks(scope: Scope) -> "QuerySet[Chunk]":
    """Return the queryset of chunks that a search under `scope` could find."""
    return chunks_in(scope.workspace_id, scope.chunk_values)


def standing_documents(scope: Scope) -> "QuerySet[Document]":
    """Return the queryset of documents that a search under `scope` could find."""
    documents: QuerySet[Document] = Document.objects.in_workspace(scope.workspace_id)
    return documents.filter(scope.document_conditions())


def imported_documents(scope: Scope, place: Place, imports: Sequence[Import]) -> dict[str, int]:
    """Return the documents in `place` at which the imports may point, ids by path; in order, and bounded."""
    wanted = {
        "path": dict.fromkeys(path for each in imports for path in each.paths),
        "folder": dict.fromkeys(folder for each in imports for folder in each.folders),
        "below_root": dict.fromkeys(path for each in imports for path in each.below_roots),
    }
    # What nothing asks for is left out: it would be worked out for every path there is.
    asked = [Q(**{f"{name}__any_of": list(each)[:_MAX_CANDIDATES]}) for name, each in wanted.items() if each]
    if not asked:
        return {}
    rows = (
        standing_documents(scope)
        .alias(folder=_without("/[^/]*$"), below_root=_without(SOURCE_ROOT))
        .filter(reduce(or_, asked), source=place.source_id, version=place.version_id)
        .order_by("path")
        .values_list("path", "id")[:_MAX_DOCUMENTS]
    )
    return dict(rows)


def _without(pattern: str) -> Func:
    return Func(F("path"), Value(pattern), Value(""), function="regexp_replace", output_field=TextField())


def read_chunks(scope: Scope, chunk_ids: Iterable[str]) -> dict[str, Chunk]:
    """Return those of the chunks that stand, by id, with document, source and version."""
    ids = [uuid.UUID(hex=chunk_id) for chunk_id in chunk_ids]
    rows = (
        standing_chunks(scope)
        .filter(
            chunk_id__in=ids,
            document__source__workspace=scope.workspace_id,
            document__version__workspace=scope.workspace_id,
        )
        .select_related("document__source", "document__version")
    )
    return {chunk.chunk_id.hex: chunk for chunk in rows}
