"""What somebody is still typing: which headings have words that begin so, and which words do."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate, islice

from search.retrieval.text.cleaning import storable
from search.retrieval.text.unicode_scripts import RUN, fold, is_unspaced

#: Stands behind every other: what begins with some characters lies between them and them with it.
LAST_CHARACTER = "\U0010ffff"

# More words narrow a search no further, and longer ones are none.
_MAX_WORDS = 8
_MAX_WORD_CHARS = 64
_READ_CHARS = 1_000
# A part of an identifier begins a word, too: `limit` in `rateLimit`.
_PART_START = re.compile(r"(?<=[a-z\d])(?=[A-Z])")


class Typed:
    """A text as typed so far."""

    def __init__(self, text: str) -> None:
        #: Without what can't be stored, and so stands nowhere.
        self.text = storable(text)
        self._runs = list(islice(RUN.finditer(self.text[:_READ_CHARS]), _MAX_WORDS))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Return the words, folded; a run of an unspaced script is one."""
        return tuple(dict.fromkeys(fold(run[0])[:_MAX_WORD_CHARS] for run in self._runs))

    def begins_words_of(self, heading: str) -> bool:
        """Return whether each typed word is the beginning of a word of `heading`."""
        folded = fold(heading)
        starts = list(_word_starts(heading))
        if len(folded) != len(heading):
            folded, starts = _folded_from(heading, starts)
        return all(
            # In a script without spaces a word may begin anywhere.
            word in folded if is_unspaced(word[0]) else any(folded.startswith(word, at) for at in starts)
            for word in self.words
        )

    def order_of(self, heading: str) -> tuple[bool, int, str]:
        """Return what sorts headings: those that begin as typed, then the shorter ones, then by letters."""
        folded = fold(heading)
        return not folded.startswith(fold(" ".join(self.text.split()))), len(folded), folded

    def completing(self, text: str) -> Iterator[str]:
        """Return the words of `text` that go on where the last typed one ends, as often as they
        stand there.
        """
        last = fold(self._runs[-1][0])
        for word in RUN.findall(text):
            folded = fold(word)
            if folded.startswith(last) and folded != last:
                # A word that begins a sentence is the word in small letters.
                yield word.lower() if word.istitle() else word

    def completed(self, word: str) -> str:
        """Return what was typed with `word` for its last word."""
        return self.text[: self._runs[-1].start()] + word


def _word_starts(heading: str) -> Iterator[int]:
    for run in RUN.finditer(heading):
        yield run.start()
        yield from (run.start() + part.start() for part in _PART_START.finditer(run[0]))


def _folded_from(heading: str, starts: Sequence[int]) -> tuple[str, list[int]]:
    """Fold piece by piece what folding makes longer or shorter: `Straße` is `strasse`."""
    if not starts:  # no word, but a soft hyphen
        return "", []
    pieces = [fold(heading[low:high]) for low, high in zip(starts, [*starts[1:], len(heading)], strict=True)]
    return "".join(pieces), list(accumulate(map(len, pieces[:-1]), initial=0))
