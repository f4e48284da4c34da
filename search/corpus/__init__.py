"""The write path: one document is one transaction, its change numbered last in it."""

from search.corpus.drafts import ChunkDraft, DocumentDraft, Place
from search.corpus.remove import delete_documents
from search.corpus.replace import Outcome, Written, replace_document, replace_documents, restate_document
from search.corpus.sources import ensure_source, ensure_version, find_or_make_source

__all__ = [
    "ChunkDraft",
    "DocumentDraft",
    "Outcome",
    "Place",
    "Written",
    "delete_documents",
    "ensure_source",
    "ensure_version",
    "find_or_make_source",
    "replace_document",
    "replace_documents",
    "restate_document",
]
