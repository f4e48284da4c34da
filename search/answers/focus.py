"""The part of a message that asks, without greetings, thanks, reasons, background and pasted text."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from search.answers.sentences import split_sentences
from search.answers.speech import Speech, begins_with, speech_of
from search.retrieval.text.unicode_scripts import RUN, fold, words_of

# A sentence of so many runs, of which such a share are no plain words, is a log or code.
_MIN_PASTED_RUNS, _PASTED_SHARE = 6, 0.3
_PLAIN_RUN: Final = re.compile(r"[\"'(\[¿¡«„“‘]*[^\W\d_]+(?:['’-][^\W\d_]+)*['\")\]»”’.,;:!?…؟،。，？！।]*")
_QUESTION_MARK: Final = re.compile(r"[?？؟;\u037e]['\")\]»”’\s]*\Z")
_CLAUSE: Final = re.compile(r"(?<=[,;:،、，；：!])\s+|\s+[-–—]+\s+")
_STOP: Final = re.compile(r"(?<=[.!…])\s+")
_BEGINNING_CHARS: Final = 100
# Words of courtesy in a sentence that asks for nothing but an answer.
_PLEA_WORDS: Final = 2
# Words of a salutation, and of a request between its verb and the question ("tell me please how").
_SALUTATION_WORDS, _ASKING_DISTANCE = 4, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Focus:
    """A message: the sentences that ask, without greetings, and all that it says besides."""

    asking: str
    background: str
    speech: Speech


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question as it is searched: what it asks, and the subject that it doesn't say."""

    asking: str
    #: From the background or an earlier question; "" for a question that says its own.
    subject: str = ""
    #: Folded words of `asking` that say what is asked about the subject.
    content: frozenset[str] = frozenset()

    @property
    def text(self) -> str:
        """Return the subject, then what is asked."""
        return f"{self.subject} {self.asking}".strip()

    def adds(self, term: str) -> bool:
        """Return whether a term is of what is asked about the subject; any is of a question without one."""
        return not self.subject or self.content.issuperset(words_of(term))

    def has(self, term: str) -> bool:
        """Return whether a term is of the part that asks, not of the subject."""
        return set(words_of(self.asking)).issuperset(words_of(term)) and term not in self.subject


def find_focus(message: str, context: Sequence[str] = ()) -> Focus:
    """Return the sentences of a message that ask, and its background.

    A sentence asks that ends with a question mark; without any, one that begins with a question word; without
    any, each one that is not pasted. `context` are words of the conversation, which tell the language of a
    short message.
    """
    sentences = _split(message, speech_of(words_of(message), context))
    prose = [each for each in sentences if not _is_pasted(each)] or sentences
    speech = speech_of(words_of(" ".join(_select_questions(prose) or prose)), context)
    said = [each for each in prose if not _is_courtesy(each, speech)] or prose
    questions = _select_questions(said)
    asking = (
        [each for each in questions if not _is_plea(each, speech)]
        or questions
        or [each for each in said if _find_question(each, speech) is not None]
        or said
    )
    trimmed = [_trim(each, speech) for each in asking]
    rest = [each for each in sentences if each not in asking and not _is_courtesy(each, speech)]
    return Focus(asking=" ".join(trimmed), background=" ".join(rest), speech=speech)


def says_subject(text: str, speech: Speech) -> bool:
    """Return whether a question says what it is about: it has a content word, and none that refers back."""
    return bool(speech.content(words_of(text))) and not refers_back(text, speech)


def refers_back(text: str, speech: Speech) -> bool:
    """Return whether a word of the text refers to something that is not said before it.

    A word of a further clause is taken to refer to the clauses before it.
    """
    before: list[str] = []
    for clause in _clauses(text, speech):
        if any(speech.refers_at(clause, at) for at in range(len(clause))) and not speech.content(before):
            return True
        before += clause
    return False


def _clauses(text: str, speech: Speech) -> Iterator[list[str]]:
    """Yield the words of each clause: it begins behind a comma, or at a conjunction or question word."""
    for part in _CLAUSE.split(text):
        clause: list[str] = []
        words = words_of(part)
        for at, word in enumerate(words):
            if clause and speech.begins_clause(words[at:]):
                yield clause
                clause = []
            clause.append(word)
        yield clause


def _split(message: str, speech: Speech) -> list[str]:
    sentences: list[str] = []
    for sentence in (
        each for line in _lines(message, speech) for each in split_sentences(line, speech.language)
    ):
        # The splitter ends no sentence before a small letter.
        *before, last = _STOP.split(sentence)
        asks = bool(before) and _asks_first(last, speech)
        sentences += (sentence[: -len(last)], last) if asks else (sentence,)
    return [each.strip() for each in sentences if words_of(each)] or [message]


def _lines(message: str, speech: Speech) -> Iterator[str]:
    """Yield the lines of a message; one that begins with a small letter goes on with the line before it."""
    joined = ""
    for line in map(str.strip, message.splitlines()):
        if joined and line[:1].islower() and not _is_pasted(joined) and not _asks_first(line, speech):
            joined = f"{joined} {line}"
            continue
        yield joined
        joined = line
    yield joined


def _asks_first(text: str, speech: Speech) -> bool:
    words = words_of(text[:_BEGINNING_CHARS])
    # A pasted log may be in another language than the question.
    speeches = (speech, speech_of(words))
    return any(
        begins_with(words, each.interrogatives | each.starters)
        # "Until when"
        or (words[0] in each.stop_words and begins_with(words[1:], each.interrogatives))
        for each in speeches
        if words
    )


def _is_pasted(sentence: str) -> bool:
    runs = sentence.split()
    odd = sum(_PLAIN_RUN.fullmatch(run) is None for run in runs)
    return odd >= _PASTED_SHARE * len(runs) if len(runs) >= _MIN_PASTED_RUNS else 1 < odd == len(runs)


def _select_questions(sentences: Sequence[str]) -> list[str]:
    return [each for each in sentences if _QUESTION_MARK.search(each)]


def _is_courtesy(sentence: str, speech: Speech) -> bool:
    words = words_of(sentence)
    return all(map(speech.is_filler, words)) and not speech.courtesy.isdisjoint(words)


def _is_plea(sentence: str, speech: Speech) -> bool:
    """Return whether a sentence asks for help without a question word ("Could anyone here help me out?")."""
    words = words_of(sentence)
    asks = any(begins_with(words[at:], speech.interrogatives) for at in range(len(words)))
    return not asks and len(speech.courtesy.intersection(words)) >= _PLEA_WORDS


def _trim(sentence: str, speech: Speech) -> str:
    """Return a sentence from where it asks on, without greetings and reasons; whole if these say more."""
    asked = _without_courtesy(sentence[_find_question(sentence, speech) or 0 :], speech)
    asked = _without_reasons(asked, speech)
    return asked if says_subject(asked, speech) else _without_courtesy(sentence, speech)


def _find_question(sentence: str, speech: Speech) -> int | None:
    """Return where the question of a sentence begins: behind a request to be told, else at a clause."""
    places = [(found.start(), fold(found[0])) for found in RUN.finditer(sentence)]
    words = [word for _, word in places]
    cuts = [found.end() for found in _CLAUSE.finditer(sentence)]
    starts = [bisect_left(places, (cut, "")) for cut in (0, *cuts)]
    questions = [at for at in range(len(words)) if begins_with(words[at:], speech.interrogatives)]
    begun = [_skip_courtesy(words, start, questions, speech) for start in starts]
    by_word = [at for at in begun if _skip_function_words(words, at, questions, speech) in questions]
    by_verb = [at for at in begun if begins_with(words[at:], speech.starters)]
    # A reason may begin with the same word as a question ("Como …").
    by_word = [at for at in by_word if not (at == 0 and begins_with(words, speech.reasons))] or by_word
    found = min((*by_word[:1], *by_verb[:1]), default=None)
    request = _find_request(words, questions, speech)
    if request is not None and (found is None or not speech.content(words[found:request])):
        begins = (at for at in starts[1:] if _skip_function_words(words, at, questions, speech) == request)
        found = next(begins, request)
    return None if found is None or found >= len(places) else places[found][0]


def _skip_courtesy(words: Sequence[str], at: int, questions: Sequence[int], speech: Speech) -> int:
    while at < len(words) and at not in questions:
        if words[at] not in speech.courtesy and (words[at],) not in speech.openers:
            break
        at += 1
    return at


def _skip_function_words(words: Sequence[str], at: int, questions: Sequence[int], speech: Speech) -> int:
    """Return the place behind function words, such as the preposition of "until when"."""
    while at < len(words) and at not in questions and words[at] in speech.stop_words:
        at += 1
    return at


def _find_request(words: Sequence[str], questions: Sequence[int], speech: Speech) -> int | None:
    """Return the place of the question word that follows a request to be told; the last one of a chain."""
    request: int | None = None
    for at in questions:
        chained = request is None or not speech.content(words[request:at])
        if chained and _is_request(words[max(0, at - _ASKING_DISTANCE) : at], speech):
            request = at
    return request


def _is_request(words: Sequence[str], speech: Speech) -> bool:
    """Return whether the last word but for function words is one of courtesy."""
    telling = (word for word in reversed(words) if word in speech.courtesy or word not in speech.stop_words)
    return next(telling, "") in speech.courtesy


def _without_courtesy(sentence: str, speech: Speech) -> str:
    """Return a sentence without a salutation, and without words of courtesy at its beginning or end."""
    clauses = _CLAUSE.split(sentence)
    while len(clauses) > 1 and _is_salutation(clauses[0], speech):
        sentence = sentence[len(clauses[0]) :].lstrip(" -–—")
        clauses = clauses[1:]
    while len(clauses) > 1 and _is_courtesy(clauses[-1], speech):
        sentence = sentence[: -len(clauses[-1])].rstrip(" -–—,;:")
        clauses = clauses[:-1]
    end = 0
    for found in RUN.finditer(sentence):
        word = fold(found[0])
        if not speech.is_filler(word) or (word,) in speech.interrogatives:
            break
        end = found.end() if word in speech.courtesy else end
    rest = sentence[end:].lstrip(" ,;:.!–—-")
    return rest if speech.content(words_of(rest)) else sentence


def _is_salutation(clause: str, speech: Speech) -> bool:
    words = words_of(clause)
    return len(words) <= _SALUTATION_WORDS and words[:1] != [] and words[0] in speech.courtesy


def _without_reasons(sentence: str, speech: Speech) -> str:
    """Return a sentence up to the clause that gives a reason."""
    clauses = {found.end() for found in _CLAUSE.finditer(sentence)}
    places = [(found.start(), fold(found[0])) for found in RUN.finditer(sentence)]
    words = [word for _, word in places]
    for at, (start, _) in enumerate(places):
        reason = begins_with(words[at:], speech.reasons)
        if at and reason and (start in clauses or tuple(words[at : at + reason]) == speech.because):
            return sentence[:start].rstrip(" ,;:–—-")
    return sentence
