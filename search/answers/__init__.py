"""Answers to questions: retrieved hits, and a text whose every citation can be checked.

question → search → cutoff → gates → passages → model, or the passages' best sentences → markers → answer
"""

from search.answers.answer import answer_events, answer_question, quote_answer
from search.answers.request import DEFAULT_HITS, MAX_HITS, MAX_QUESTION_CHARS, AnswerRequest
from search.answers.types import (
    Answer,
    AnswerCitation,
    AnswerEvent,
    AnswerHit,
    AnswerReason,
    AnswerState,
    Finished,
    Retrieved,
    TextAdded,
    Usage,
)

__all__ = (
    "DEFAULT_HITS",
    "MAX_HITS",
    "MAX_QUESTION_CHARS",
    "Answer",
    "AnswerCitation",
    "AnswerEvent",
    "AnswerHit",
    "AnswerReason",
    "AnswerRequest",
    "AnswerState",
    "Finished",
    "Retrieved",
    "TextAdded",
    "Usage",
    "answer_events",
    "answer_question",
    "quote_answer",
)
