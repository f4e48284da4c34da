"""How an answer's text comes about: refused, drawn from the passages, or written by a model."""

import logging
import threading
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

from search.answers.conversation import Conversation
from search.answers.errors import ModelFailed
from search.answers.extract import Sentence, extract, text_of
from search.answers.markers import Taming, verdict_on
from search.answers.model.configured import ChatModel
from search.answers.passages import EXTRACTIVE_TOKENS, Found, Passage
from search.answers.prompt import Frame, FramedPassage, Message
from search.answers.types import AnswerCitation, AnswerReason, AnswerState, TextAdded, Usage
from search.context.budget import counting
from search.context.request import BudgetUnit

logger = logging.getLogger(__name__)

# Of a model's context: what it may write at most, and how many tokens its own tokenizer may make of ten.
_WRITTEN_SHARE: Final = 4
_MODEL_TOKENS_OF_TEN: Final = 12
# What a block has beside a passage's text.
_BLOCK_TOKENS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a question."""

    state: AnswerState
    reason: AnswerReason | None = None
    text: str = ""
    citations: tuple[AnswerCitation, ...] = ()
    #: None where none was asked.
    model: str | None = None
    usage: Usage | None = None
    warnings: tuple[str, ...] = ()


#: Gives the pieces of the text as they come, and what came of it in the end.
Writing = Generator[TextAdded, None, Outcome]


def passage_tokens(model: ChatModel | None, question: str, conversation: Conversation, hits: int) -> int:
    """Return how many tokens the passages of an answer may have together."""
    if model is None:
        return EXTRACTIVE_TOKENS
    count, _ = counting(BudgetUnit.TOKENS)
    frame = Frame().messages(question, [], conversation.turns)
    framed = sum(count(message["content"]) for message in frame) + hits * _BLOCK_TOKENS
    readable = model.context_tokens - model.context_tokens // _WRITTEN_SHARE
    return max(0, readable * 10 // _MODEL_TOKENS_OF_TEN - framed)


def write(
    question: str,
    found: Found,
    conversation: Conversation,
    *,
    model: ChatModel | None,
    stop: threading.Event,
) -> Writing:
    """Answer a question from what was found for it; a refusal asks no model."""
    if found.refusal is not None:
        return Outcome(state=AnswerState.REFUSED, reason=found.refusal)
    if model is None:
        return (yield from _extracted(found))
    return (yield from _written(_messages(question, found, conversation), found, model, stop))


def _extracted(found: Found) -> Writing:
    sentences = extract(found.passages, found.words or (), found.analysis)
    if not sentences:
        return Outcome(state=AnswerState.REFUSED, reason=AnswerReason.NO_CHUNKS)
    text = text_of(sentences)
    yield TextAdded(text=text)
    return Outcome(state=AnswerState.EXTRACTIVE, text=text, citations=_quotes(sentences, found.passages))


def _written(messages: Sequence[Message], found: Found, model: ChatModel, stop: threading.Event) -> Writing:
    taming, text, usage = Taming(), "", None
    reason: AnswerReason | None = None
    warnings: tuple[str, ...] = ()
    try:
        with closing(model.answer(messages, lambda: _go_on(stop))) as pieces:  # type: ignore[type-var]
            for piece in pieces:
                _go_on(stop)
                if isinstance(piece, Usage):
                    usage = piece
                elif added := taming.feed(piece):
                    text += added
                    yield TextAdded(text=added)
    except ModelFailed as error:
        logger.warning("no whole answer: %s", " ".join(filter(None, (f"{error}.", error.remedy))))
        reason, warnings = error.reason, (f"{str(error).capitalize()}.",)
    if rest := taming.finish():
        text += rest
        yield TextAdded(text=rest)
    verdict = verdict_on(text, [passage.hit.n or 0 for passage in found.passages])
    return Outcome(
        state=_state(reason, verdict.reason),
        reason=reason or verdict.reason,
        text=text,
        citations=_cited(verdict.named, found.passages),
        model=model.name,
        usage=usage,
        warnings=warnings,
    )


def _state(failure: AnswerReason | None, doubt: AnswerReason | None) -> AnswerState:
    if failure is not None:
        return AnswerState.FAILED
    return AnswerState.GROUNDED if doubt is None else AnswerState.UNGROUNDED


def _go_on(stop: threading.Event) -> None:
    if stop.is_set():
        raise ModelFailed(AnswerReason.STOPPED, "was stopped: nobody waits for its answer", is_fault=False)


def _messages(question: str, found: Found, conversation: Conversation) -> Sequence[Message]:
    framed = [
        FramedPassage(
            n=passage.hit.n or 0,
            source=passage.hit.source,
            trust=passage.hit.trust_level.value,
            heading=" > ".join(passage.hit.heading_path) or passage.hit.title,
            uri=passage.hit.citation.uri,
            text=passage.text,
        )
        for passage in found.passages
    ]
    return Frame().messages(question, framed, conversation.turns)


def _quotes(sentences: Sequence[Sentence], passages: Sequence[Passage]) -> tuple[AnswerCitation, ...]:
    """Cite each passage once: the sentence that is taken from it, or all of it where there are several."""
    texts: dict[int, list[str]] = {}
    for sentence in sentences:
        texts.setdefault(sentence.n, []).append(sentence.text)
    by_number = {passage.hit.n or 0: passage for passage in passages}
    return tuple(
        _citation(by_number[n], taken[0] if len(taken) == 1 else by_number[n].text)
        for n, taken in texts.items()
    )


def _cited(numbers: Sequence[int], passages: Sequence[Passage]) -> tuple[AnswerCitation, ...]:
    by_number = {passage.hit.n: passage for passage in passages}
    return tuple(_citation(by_number[n], by_number[n].text) for n in numbers)


def _citation(passage: Passage, quote: str) -> AnswerCitation:
    hit = passage.hit
    shared: dict[str, Any] = {
        name: getattr(hit, name)
        for name in (
            "chunk_id",
            "doc_id",
            "title",
            "heading_path",
            "source",
            "version",
            "trust_level",
            "citation",
        )
    }
    return AnswerCitation(n=hit.n or 0, quote=quote, **shared)
