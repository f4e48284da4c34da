"""What somebody is still typing: its words, and which headings have words that begin so."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from search.retrieval.scripts import RUN, fold, is_unspaced

# More words narrow a search no further, and longer ones are none.
_MAX_WORDS = 8
_MAX_WORD_CHARS = 64
# A part of an identifier begins a word, too: `limit` in `rateLimit`.
_PART = re.compile(r"(?<=[a-z\d])(?=[A-Z])")


@dataclass(frozen=True)
class Typed:
    """A text as typed so far."""

    text: str

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Give the first words, folded; a run of an unspaced script is one."""
        runs = (fold(run[0])[:_MAX_WORD_CHARS] for run in RUN.finditer(self.text))
        return tuple(dict.fromkeys(islice(runs, _MAX_WORDS)))

    @cached_property
    def before_last(self) -> str:
        """Give the text up to the last word."""
        return self.text[: max((run.start() for run in RUN.finditer(self.text)), default=0)]

    def begins_words_of(self, heading: str) -> bool:
        """Say whether each typed word is the beginning of a word of `heading`."""
        starts = [fold(heading[at:]) for at in _word_starts(heading)]
        return all(self._is_in(word, heading, starts) for word in self.words)

    def _is_in(self, word: str, heading: str, starts: list[str]) -> bool:
        # In a script without spaces a word may begin anywhere.
        return word in fold(heading) if is_unspaced(word[0]) else any(map(word.__eq__, (s[: len(word)] for s in starts)))

    def order_of(self, heading: str) -> tuple[bool, int, str]:
        """Give what sorts headings: those that begin as typed, then the shorter ones, then by letters."""
        folded = fold(heading)
        return not folded.startswith(fold(" ".join(self.text.split()))), len(folded), folded
