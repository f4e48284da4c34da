"""Trust levels of documents: stated about them, else in their front matter, else their source's default."""

import uuid
from collections.abc import Mapping
from typing import Any, Final

from django.db import connection, transaction
from django.db.models import Case, CharField, Value, When
from django.db.models.fields.json import KT

from search.corpus.replace import append_changes
from search.models import Document, Source, Trust
from search.models.source_kind import STATING_TRUST

#: Documents that one transaction changes at most.
BATCH: Final = 10_000
# Waits for `apply_default_trust`, and holds it off until the transaction ends; no other change of the source.
_SHARE: Final = "SELECT default_trust FROM search_source WHERE workspace_id = %s AND id = %s FOR KEY SHARE"


def trust_level_of(source: Source, metadata: Mapping[str, Any], overrides: Mapping[str, Any]) -> str:
    """Return the trust level of a document of `source` with this metadata and these overrides."""
    levels = (overrides.get("trust_level"), *map(metadata.get, _front_matter_names(source)))
    return next((level for level in levels if level in Trust.values), source.default_trust)


def hold_default_trust(source: Source) -> str:
    """Return the source's present default, which applies to all that this transaction writes."""
    with connection.cursor() as cursor:
        cursor.execute(_SHARE, [source.workspace_id, source.pk])
        row = cursor.fetchone()
    return source.default_trust if row is None else str(row[0])


def apply_default_trust(workspace_id: uuid.UUID, source_id: uuid.UUID) -> int:
    """Update up to BATCH documents that have another trust level than they should; return their number."""
    with transaction.atomic():
        source = Source.objects.in_workspace(workspace_id).filter(pk=source_id).select_for_update().first()
        if source is None:
            return 0
        documents = Document.objects.in_workspace(workspace_id).filter(source=source)
        level = _level_without_override(source)
        wrong = documents.exclude(overrides__has_key="trust_level").exclude(trust_level=level)
        held = wrong.order_by("doc_id").select_for_update(no_key=True)
        doc_ids = list(held.values_list("doc_id", flat=True)[:BATCH])
        if doc_ids:
            documents.filter(doc_id__in=doc_ids).update(trust_level=level)
            append_changes(workspace_id, doc_ids, "upsert")
        return len(doc_ids)


def _level_without_override(source: Source) -> Case:
    """Return `trust_level_of` a document that states no level, as an expression."""
    stated = [
        When(**{f"metadata__{name}__in": Trust.values}, then=KT(f"metadata__{name}"))
        for name in _front_matter_names(source)
    ]
    return Case(*stated, default=Value(source.default_trust), output_field=CharField())


def _front_matter_names(source: Source) -> tuple[str, ...]:
    """Return the fields of front matter that state a level; documents by people outside state none."""
    return ("trust_level", "trust") if source.kind in STATING_TRUST else ()
