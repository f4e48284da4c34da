"""Labels of answer states and reasons, with their meaning for readers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from search.answers import Answer, AnswerReason, AnswerState


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeLabel:
    """The outcome of an answer in words."""

    label: str
    #: '', 'good' or 'bad': the CSS class that colours the state.
    kind: str
    meaning: str


_REASONS: Final[Mapping[AnswerReason, str]] = {
    AnswerReason.NO_CHUNKS: "Nothing was found for this question among what you may read here.",
    AnswerReason.SCORE_GATE: "What was found fits the question too little to answer from it.",
    AnswerReason.NOT_COVERED: "What was found doesn’t speak of what you asked.",
    AnswerReason.EMPTY: "The model wrote nothing.",
    AnswerReason.NO_MARKER: "It names no passage that it was taken from.",
    AnswerReason.UNKNOWN_MARKER: "It names a passage that the model was never given.",
    AnswerReason.MODEL_TIMEOUT: "The model took too long.",
    AnswerReason.MODEL_DIED: "The model broke off in the middle.",
    AnswerReason.RATE_LIMITED: "The model is asked too often just now.",
    AnswerReason.MODEL_REFUSED: "The model refused to answer.",
    AnswerReason.MODEL_UNAVAILABLE: "The model can’t be reached just now.",
    AnswerReason.STOPPED: "It was stopped before the end.",
}


def outcome_label(answer: Answer) -> OutcomeLabel:
    """Return the label of an answer's state, with the reason as its meaning."""
    reason = "" if answer.reason is None else _REASONS[answer.reason]
    if answer.state is AnswerState.GROUNDED:
        return OutcomeLabel(
            label="Cited answer", kind="good", meaning="Every number leads to what it was taken from."
        )
    if answer.state is AnswerState.EXTRACTIVE:
        meaning = "Sentences of the documents themselves, word for word: no model writes answers here."
        return OutcomeLabel(label="Quoted, not written", kind="good", meaning=meaning)
    if answer.state is AnswerState.REFUSED:
        return OutcomeLabel(label="No answer in the documents", kind="", meaning=reason)
    if answer.state is AnswerState.UNGROUNDED:
        return OutcomeLabel(label="Don’t rely on this", kind="bad", meaning=reason)
    return OutcomeLabel(label="No whole answer", kind="bad", meaning=_with_remedy(answer, reason))


def _with_remedy(answer: Answer, reason: str) -> str:
    partial_text = "What had come by then is below." if answer.text else ""
    remedy = "" if answer.reason is AnswerReason.STOPPED else "Ask again in a moment."
    return " ".join(filter(None, (reason, partial_text, remedy)))
