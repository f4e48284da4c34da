"""JSON representation of answers. Every field is present; absent values are null."""

import uuid
from collections.abc import Sequence
from typing import Final

from search.answers.citation_check import CheckedCitation
from search.answers.types import Answer, AnswerCitation, AnswerHit, Usage
from search.retrieval.wire import Wire, citation_to_wire, field_values, time_to_wire

ANSWER_VERSION: Final = "answer.v1"
CHECK_VERSION: Final = "answer_check.v1"


def answer_to_wire(answer: Answer) -> Wire:
    """Return an answer as `answer.v1`."""
    return {
        "schema_version": ANSWER_VERSION,
        **field_values(answer),
        "answer_id": str(answer.answer_id),
        "conversation_id": str(answer.conversation_id),
        "state": answer.state.value,
        "reason": None if answer.reason is None else answer.reason.value,
        "citations": [answer_citation_to_wire(citation) for citation in answer.citations],
        "hits": [answer_hit_to_wire(hit) for hit in answer.hits],
        "usage": None if answer.usage is None else usage_to_wire(answer.usage),
        "mode": answer.mode.value,
        "created_at": time_to_wire(answer.created_at),
        "degraded": list(answer.degraded),
        "warnings": list(answer.warnings),
    }


def answer_hit_to_wire(hit: AnswerHit) -> Wire:
    """Return the JSON of a hit of an answer."""
    return field_values(hit) | _shared_fields(hit)


def answer_citation_to_wire(citation: AnswerCitation) -> Wire:
    """Return the JSON of a citation of an answer, with `uri` also at its top level."""
    return field_values(citation) | _shared_fields(citation) | {"uri": citation.uri}


def check_to_wire(answer_id: uuid.UUID, checked: Sequence[CheckedCitation]) -> Wire:
    """Return the check of an answer's citations as `answer_check.v1`."""
    return {
        "schema_version": CHECK_VERSION,
        "answer_id": str(answer_id),
        "citations": [
            {
                "n": each.cited.n,
                "cited_uri": each.cited.uri,
                "state": each.state.value,
                "citation": None if each.citation is None else citation_to_wire(each.citation),
            }
            for each in checked
        ],
    }


def usage_to_wire(usage: Usage) -> Wire:
    """Return the JSON of a model's token usage."""
    return field_values(usage)


def _shared_fields(found: AnswerHit | AnswerCitation) -> Wire:
    return {
        "heading_path": list(found.heading_path),
        "trust_level": found.trust_level.value,
        "citation": citation_to_wire(found.citation),
    }
