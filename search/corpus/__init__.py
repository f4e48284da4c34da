"""The write path: one document is one transaction, its change numbered last in it."""

from search.corpus.drafts import ChunkDraft, DocumentDraft, DocumentLocation
from search.corpus.remove import delete_documents
from search.corpus.replace import (
    DocumentsChanged,
    Outcome,
    WriteResult,
    replace_document,
    replace_documents,
    update_document_fields,
)
from search.corpus.sources import ensure_source, ensure_version, get_or_create_source

__all__ = [
    "ChunkDraft",
    "DocumentDraft",
    "DocumentLocation",
    "DocumentsChanged",
    "Outcome",
    "WriteResult",
    "delete_documents",
    "ensure_source",
    "ensure_version",
    "get_or_create_source",
    "replace_document",
    "replace_documents",
    "update_document_fields",
]
