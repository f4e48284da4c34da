"""Completion of a text while it is typed: matching headings and words."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate, islice

from search.retrieval.text.sanitize import strip_unstorable
from search.retrieval.text.unicode_scripts import RUN, fold, is_unspaced

#: Sorts after every other character: texts with a prefix lie between it and the prefix plus this.
LAST_CHARACTER = "\U0010ffff"

# More words hardly narrow a search, and a longer word is none.
_MAX_WORDS = 8
_MAX_WORD_CHARS = 64
_READ_CHARS = 1_000
# A part of an identifier is a word, too: `limit` in `rateLimit`.
_PART_START = re.compile(r"(?<=[a-z\d])(?=[A-Z])")


class TypedText:
    """A text that is still being typed."""

    def __init__(self, text: str) -> None:
        #: Without characters that can't be stored, which no document has.
        self.text = strip_unstorable(text)
        self._runs = list(islice(RUN.finditer(self.text[:_READ_CHARS]), _MAX_WORDS))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Return the words, folded; a run of an unspaced script is one."""
        return tuple(dict.fromkeys(fold(run[0])[:_MAX_WORD_CHARS] for run in self._runs))

    @cached_property
    def _beginning(self) -> str:
        return fold(" ".join(self.text.split()))

    def begins_words_of(self, heading: str) -> bool:
        """Return whether each typed word is the beginning of a word of `heading`."""
        folded = fold(heading)
        starts = list(_word_starts(heading))
        if len(folded) != len(heading):
            folded, starts = _fold_with_starts(heading, starts)
        return all(
            # In a script without spaces a word may begin anywhere.
            word in folded if is_unspaced(word[0]) else any(folded.startswith(word, at) for at in starts)
            for word in self.words
        )

    def sort_key(self, heading: str) -> tuple[bool, int, str]:
        """Return the sort key of a heading: with the typed prefix first, then by length, then by text."""
        folded = fold(heading)
        return not folded.startswith(self._beginning), len(folded), folded

    def find_completions(self, text: str) -> Iterator[str]:
        """Return the words of `text` that continue the last typed word, with repetitions."""
        last = fold(self._runs[-1][0])
        for word in RUN.findall(text):
            folded = fold(word)
            if folded.startswith(last) and folded != last:
                # A capitalised word may begin a sentence, so it counts as lower case.
                yield word.lower() if word.istitle() else word

    def complete(self, word: str) -> str:
        """Return the typed text with `word` as its last word."""
        return self.text[: self._runs[-1].start()] + word


def _word_starts(heading: str) -> Iterator[int]:
    for run in RUN.finditer(heading):
        yield run.start()
        yield from (run.start() + part.start() for part in _PART_START.finditer(run[0]))


def _fold_with_starts(heading: str, starts: Sequence[int]) -> tuple[str, list[int]]:
    """Return `heading` folded piece by piece, with the new starts; folding may change a length.

    `Straße` becomes `strasse`.
    """
    if not starts:  # a heading without a word, like a soft hyphen
        return "", []
    pieces = [fold(heading[low:high]) for low, high in zip(starts, [*starts[1:], len(heading)], strict=True)]
    return "".join(pieces), list(accumulate(map(len, pieces[:-1]), initial=0))
