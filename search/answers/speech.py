"""Words of conversations by language: greetings, question words, reasons, words that refer back."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from search.retrieval.query.stopwords import STOP_WORDS, language_of, read_word_lists
from search.retrieval.text.unicode_scripts import words_of

Phrase = tuple[str, ...]
_MAX_PHRASE_WORDS = 4
_FEW_WORDS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Speech:
    """The words of a language, folded; only its stop words if it has no others."""

    stop_words: frozenset[str]
    #: ISO 639-1 code.
    language: str
    #: Of greetings, thanks and requests to be told.
    courtesy: frozenset[str] = frozenset()
    #: Words that ask, and words that begin a question.
    interrogatives: frozenset[Phrase] = frozenset()
    starters: frozenset[Phrase] = frozenset()
    reasons: frozenset[Phrase] = frozenset()
    #: The conjunction of reasons that begins nothing else.
    because: Phrase = ()
    #: Words that refer back; words that do so or stand before a noun; phrases in which neither does.
    anaphors: frozenset[str] = frozenset()
    pointers: frozenset[str] = frozenset()
    expletives: frozenset[Phrase] = frozenset()
    #: Words that begin a follow-up.
    openers: frozenset[Phrase] = frozenset()
    #: Words that say too little to be searched alone.
    vague: frozenset[str] = frozenset()

    def is_filler(self, word: str) -> bool:
        """Return whether a word is one of courtesy or grammar."""
        return word in self.courtesy or word in self.stop_words

    def content(self, words: Iterable[str]) -> list[str]:
        """Return the words that say what is asked about."""
        empty = self.vague | self.anaphors | self.pointers
        return [
            word
            for word in words
            if word not in empty and (word,) not in self.openers and not self.is_filler(word)
        ]

    def refers_at(self, words: Sequence[str], at: int) -> bool:
        """Return whether the word at this place refers to what was said before."""
        following = words[at + 1 :]
        is_pointer = words[at] in self.pointers and (not following or self.is_filler(following[0]))
        if words[at] not in self.anaphors and not is_pointer:
            return False
        return not any(begins_with(words[max(0, at - back) :], self.expletives) > back for back in range(3))

    def opens(self, words: Sequence[str]) -> bool:
        """Return whether the words begin as a follow-up does."""
        return begins_with(words, self.openers) > 0

    def begins_clause(self, words: Sequence[str]) -> bool:
        """Return whether a conjunction or a question word comes first."""
        lists = (self.openers, self.reasons, self.interrogatives)
        return any(begins_with(words, each) for each in lists)


def begins_with(words: Sequence[str], phrases: frozenset[Phrase]) -> int:
    """Return the length of the longest of the phrases that the words begin with; 0 if none."""
    lengths = range(min(_MAX_PHRASE_WORDS, len(words)), 0, -1)
    return next((length for length in lengths if tuple(words[:length]) in phrases), 0)


def speech_of(words: Sequence[str], context: Sequence[str] = ()) -> Speech:
    """Return the speech of the language of the words, English if unknown.

    That of a few words is the language of these and their context together.
    """
    told = words if len(words) > _FEW_WORDS else (*words, *context)
    language = language_of(told) or language_of(context) or _guess_language(told)
    known = _read_speeches().get(language)
    return known or Speech(stop_words=STOP_WORDS[language], language=language)


def _guess_language(words: Iterable[str]) -> str:
    """Return the language that has most of the words as its own; English if several have."""
    found = frozenset(words)
    counts = {name: len(found & (each.stop_words | each.courtesy)) for name, each in _read_speeches().items()}
    most = max(counts.values())
    best = [language for language, count in counts.items() if count == most]
    return best[0] if len(best) == 1 else "en"


@cache
def _read_speeches() -> Mapping[str, Speech]:
    lists = read_word_lists(Path(__file__).with_suffix(".txt"))
    return {language: _parse(language, text) for language, text in lists.items()}


def _parse(language: str, text: str) -> Speech:
    courtesy, asking, starting, reasons, anaphors, expletives, openers, vague = map(
        str.split, text.split("|")
    )
    return Speech(
        courtesy=_words(courtesy),
        interrogatives=_phrases(asking),
        starters=_phrases(starting),
        reasons=_phrases(reasons),
        because=_phrase(reasons[0]),
        anaphors=_words(each for each in anaphors if not each.endswith("*")),
        pointers=_words(each for each in anaphors if each.endswith("*")),
        expletives=_phrases(expletives),
        openers=_phrases(openers),
        vague=_words(vague),
        stop_words=STOP_WORDS[language],
        language=language,
    )


def _phrase(entry: str) -> Phrase:
    return tuple(words_of(entry.replace("_", " ")))


def _phrases(entries: Iterable[str]) -> frozenset[Phrase]:
    return frozenset(map(_phrase, entries))


def _words(entries: Iterable[str]) -> frozenset[str]:
    return frozenset(word for entry in entries for word in _phrase(entry))
