"""Factories of stored answers."""

import uuid
from typing import Any

from django.utils import timezone

from search.models import AnswerDocument, Document, KeptAnswer


def make_answer(document: Document, *, heading: str = "Guide", quote: str = "", **fields: Any) -> KeptAnswer:
    """Store an answer that cites the document's first line; `fields` override its values."""
    place = {
        "chunk_id": uuid.uuid4().hex,
        "doc_id": document.doc_id.hex,
        "title": document.title,
        "heading_path": [heading],
        "source": document.source.key,
        "version": None,
        "trust_level": document.trust_level,
        "citation": {"kind": "line", "path": document.path, "start": 1, "end": 1},
    }
    values: dict[str, Any] = {
        "conversation_id": uuid.uuid4(),
        "asked_by": "somebody@example.org",
        "creator": "user:0",
        "question": "What is it?",
        "text": "It is so [#1].",
        "state": "extractive",
        "citations": [{"n": 1, **place, "quote": quote}],
        "hits": [{"rank": 1, "score": 1.0, "n": 1, **place}],
        "mode": "hybrid",
        "index_version": "lex-1",
        "seq": 1,
        "lag": 0,
        "took_ms": 1.0,
        "created_at": timezone.now(),
        **fields,
    }
    answer = KeptAnswer.objects.create(workspace_id=document.workspace_id, **values)
    AnswerDocument.objects.create(workspace_id=document.workspace_id, answer=answer, document=document)
    return answer
