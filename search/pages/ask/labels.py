"""Labels of answer states and reasons, with their meaning for readers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from search.answers import Answer, AnswerReason, AnswerState


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeLabel:
    """The outcome of an answer in words."""

    label: str
    #: '', 'good' or 'bad': the CSS class that colours the state.
    kind: str
    meaning: str


_UNANSWERED: Final = gettext_lazy("Nothing in your documents answers this.")
_REASONS: Final[Mapping[AnswerReason, Promise]] = {
    AnswerReason.NO_CHUNKS: gettext_lazy("No document that you can access matches this question."),
    AnswerReason.SCORE_GATE: _UNANSWERED,
    AnswerReason.NOT_COVERED: _UNANSWERED,
    AnswerReason.EMPTY: gettext_lazy("The model returned no text."),
    AnswerReason.NO_MARKER: gettext_lazy("It names no source."),
    AnswerReason.UNKNOWN_MARKER: gettext_lazy("It names a source that doesn’t exist."),
    AnswerReason.MODEL_TIMEOUT: gettext_lazy("The model took too long."),
    AnswerReason.MODEL_DIED: gettext_lazy("The model stopped before the end."),
    AnswerReason.RATE_LIMITED: gettext_lazy("The model has too many requests right now."),
    AnswerReason.MODEL_REFUSED: gettext_lazy("The model refused to answer."),
    AnswerReason.MODEL_UNAVAILABLE: gettext_lazy("The model can’t be reached right now."),
    AnswerReason.STOPPED: gettext_lazy("You stopped it before the end."),
}


def outcome_label(answer: Answer) -> OutcomeLabel:
    """Return the label of an answer's state, with the reason as its meaning."""
    reason = "" if answer.reason is None else str(_REASONS[answer.reason])
    match answer.state:
        case AnswerState.GROUNDED:
            return OutcomeLabel(
                label=_("Answer with sources"), kind="good", meaning=_("Each number opens its source.")
            )
        case AnswerState.EXTRACTIVE:
            return OutcomeLabel(
                label=_("Quoted from your documents"), kind="good", meaning=_("AI answers are off.")
            )
        case AnswerState.REFUSED:
            return OutcomeLabel(label=_("No answer"), kind="", meaning=reason)
        case AnswerState.UNGROUNDED:
            return OutcomeLabel(label=_("Don’t rely on this"), kind="bad", meaning=reason)
        case AnswerState.FAILED:
            return OutcomeLabel(label=_("Incomplete"), kind="bad", meaning=_with_remedy(answer, reason))


def _with_remedy(answer: Answer, reason: str) -> str:
    partial_text = _("The part received so far is below.") if answer.text else ""
    remedy = "" if answer.reason is AnswerReason.STOPPED else _("Try again in a moment.")
    return " ".join(filter(None, (reason, partial_text, remedy)))
