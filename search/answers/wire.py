"""JSON representation of answers. Every field is present; absent values are null."""

import uuid
from collections.abc import Sequence
from typing import Final

from search.answers.citation_check import CheckedCitation
from search.answers.types import Answer, AnswerCitation
from search.wire import Wire, to_wire

ANSWER_VERSION: Final = "answer.v1"
CHECK_VERSION: Final = "answer_check.v1"


def answer_to_wire(answer: Answer) -> Wire:
    """Return an answer as `answer.v1`."""
    citations = [answer_citation_to_wire(citation) for citation in answer.citations]
    return {"schema_version": ANSWER_VERSION, **to_wire(answer), "citations": citations}


def answer_citation_to_wire(citation: AnswerCitation) -> Wire:
    """Return the JSON of a citation of an answer, with `uri` also at its top level."""
    return to_wire(citation) | {"uri": citation.uri}


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
                "citation": None if each.citation is None else to_wire(each.citation),
            }
            for each in checked
        ],
    }
