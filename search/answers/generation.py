"""Generation of an answer's text: a refusal, an extract of the passages, or a model's text."""

import logging
import threading
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, replace
from typing import Final

from search.answers.conversation import Conversation
from search.answers.extract import Sentence, extract, format_sentences
from search.answers.model.configured import ChatModel, ModelFailed
from search.answers.passages import EXTRACTIVE_TOKENS, Passage, RetrievalOutcome
from search.answers.prompt import MarkupNeutraliser, Message, PromptFrame, judge_markers
from search.answers.types import AnswerCitation, AnswerHit, AnswerReason, AnswerState, TextAdded, Usage
from search.context.budget import text_counter
from search.context.types import BudgetUnit

logger = logging.getLogger(__name__)

# One in this many tokens of a model's context is reserved for its answer; and the number of tokens that the
# model's own tokenizer may make of ten of ours.
_ANSWER_SHARE: Final = 4
_MODEL_TOKENS_OF_TEN: Final = 12
# Tokens of a passage's block in addition to its text.
_BLOCK_TOKENS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationOutcome:
    """The text, state and citations that were generated for a question."""

    state: AnswerState
    reason: AnswerReason | None = None
    text: str = ""
    citations: tuple[AnswerCitation, ...] = ()
    #: None when no model was asked.
    model: str | None = None
    usage: Usage | None = None
    warnings: tuple[str, ...] = ()


#: Yields the pieces of the text as they come and returns the outcome.
AnswerGenerator = Generator[TextAdded, None, GenerationOutcome]


def passage_tokens(model: ChatModel | None, question: str, conversation: Conversation, hits: int) -> int:
    """Return the token budget of all passages of an answer together."""
    if model is None:
        return EXTRACTIVE_TOKENS
    count, _ = text_counter(BudgetUnit.TOKENS)
    frame = PromptFrame().build_messages(question, [], conversation.turns)
    framed = sum(count(message["content"]) for message in frame) + hits * _BLOCK_TOKENS
    readable = model.context_tokens - model.context_tokens // _ANSWER_SHARE
    return max(0, readable * 10 // _MODEL_TOKENS_OF_TEN - framed)


def generate_answer(
    question: str,
    found: RetrievalOutcome,
    conversation: Conversation,
    *,
    model: ChatModel | None,
    stop: threading.Event,
) -> AnswerGenerator:
    """Answer a question from the retrieved passages.

    A model judges whether passages that lack words of the question answer it; any other refusal asks none.
    """
    is_covered = found.refusal is None
    may_cover = found.refusal is AnswerReason.NOT_COVERED and found.passages
    if not is_covered and (model is None or not may_cover):
        return GenerationOutcome(state=AnswerState.REFUSED, reason=found.refusal)
    if model is None:
        return (yield from _extract_answer(found))
    asked = _ask_model(_build_messages(question, found, conversation), found, model, stop)
    return (yield from asked if is_covered else _refuse_ungrounded(asked))


def _refuse_ungrounded(asked: AnswerGenerator) -> AnswerGenerator:
    """Hold a model's text back until it is grounded; refuse if it cites no passage."""
    text = ""
    while True:
        try:
            text += next(asked).text
        except StopIteration as ended:
            outcome: GenerationOutcome = ended.value
            break
    if outcome.state is AnswerState.UNGROUNDED:
        return replace(
            outcome, state=AnswerState.REFUSED, reason=AnswerReason.NOT_COVERED, text="", citations=()
        )
    if text:
        yield TextAdded(text=text)
    return outcome


def _extract_answer(found: RetrievalOutcome) -> AnswerGenerator:
    sentences = extract(found)
    if not sentences:
        return GenerationOutcome(state=AnswerState.REFUSED, reason=AnswerReason.NOT_COVERED)
    text = format_sentences(sentences)
    yield TextAdded(text=text)
    return GenerationOutcome(
        state=AnswerState.EXTRACTIVE, text=text, citations=_cite_sentences(sentences, found.passages)
    )


def quote_best(found: RetrievalOutcome) -> tuple[str, AnswerCitation] | None:
    """Return the best quote of the passages, as Markdown, with its citation; None if none answers."""
    sentences = extract(found)[:1]
    if found.refusal is not None or found.is_outdated or not sentences:
        return None
    return format_sentences(sentences), _cite_sentences(sentences, found.passages)[0]


def _ask_model(
    messages: Sequence[Message], found: RetrievalOutcome, model: ChatModel, stop: threading.Event
) -> AnswerGenerator:
    neutraliser, text, usage = MarkupNeutraliser(), "", None
    reason: AnswerReason | None = None
    warnings: tuple[str, ...] = ()
    try:
        with closing(model.answer(messages, lambda: _raise_if_stopped(stop))) as pieces:
            for piece in pieces:
                _raise_if_stopped(stop)
                if isinstance(piece, Usage):
                    usage = piece
                elif added := neutraliser.feed(piece):
                    text += added
                    yield TextAdded(text=added)
    except ModelFailed as error:
        logger.warning("no whole answer: %s", " ".join(filter(None, (f"{error}.", error.remedy))))
        reason, warnings = error.reason, (f"{str(error).capitalize()}.",)
    if rest := neutraliser.finish():
        text += rest
        yield TextAdded(text=rest)
    named, doubt = judge_markers(text, [passage.hit.n or 0 for passage in found.passages])
    return GenerationOutcome(
        state=_state(reason, doubt),
        reason=reason or doubt,
        text=text,
        citations=_cite_passages(named, found.passages),
        model=model.name,
        usage=usage,
        warnings=warnings,
    )


def _state(failure: AnswerReason | None, doubt: AnswerReason | None) -> AnswerState:
    if failure is not None:
        return AnswerState.FAILED
    return AnswerState.GROUNDED if doubt is None else AnswerState.UNGROUNDED


def _raise_if_stopped(stop: threading.Event) -> None:
    if stop.is_set():
        raise ModelFailed(AnswerReason.STOPPED, "was stopped: nobody waits for its answer", is_fault=False)


def _build_messages(question: str, found: RetrievalOutcome, conversation: Conversation) -> Sequence[Message]:
    framed = [
        {
            "n": passage.hit.n or 0,
            "source": passage.hit.source,
            "trust": passage.hit.trust_level.value,
            "heading": " > ".join(passage.hit.heading_path) or passage.hit.title,
            "uri": passage.hit.citation.uri,
            "text": passage.text,
        }
        for passage in found.passages
    ]
    return PromptFrame().build_messages(question, framed, conversation.turns)


def _cite_sentences(sentences: Sequence[Sentence], passages: Sequence[Passage]) -> tuple[AnswerCitation, ...]:
    """Cite each passage once, quoting its one chosen sentence, or its whole text if several were chosen."""
    texts: dict[int, list[str]] = {}
    for sentence in sentences:
        texts.setdefault(sentence.n, []).append(sentence.quote.verbatim)
    by_number = {passage.hit.n or 0: passage for passage in passages}
    return tuple(
        _build_citation(by_number[n], quotes[0] if len(quotes) == 1 else by_number[n].text)
        for n, quotes in texts.items()
    )


def _cite_passages(numbers: Sequence[int], passages: Sequence[Passage]) -> tuple[AnswerCitation, ...]:
    by_number = {passage.hit.n: passage for passage in passages}
    return tuple(_build_citation(by_number[n], by_number[n].text) for n in numbers)


def _build_citation(passage: Passage, quote: str) -> AnswerCitation:
    shared = {each.name for each in fields(AnswerHit)} & {each.name for each in fields(AnswerCitation)}
    return AnswerCitation(
        **{name: getattr(passage.hit, name) for name in shared - {"n"}}, n=passage.hit.n or 0, quote=quote
    )
