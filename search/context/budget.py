"""How a text is measured against a budget."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from search.context.request import BudgetUnit
from search.context.types import CountedBy
from search.embedders.minilm.tokenizer import TokenCounter

# No token spans these, so that the tokens of a text are those of its words.
_WORD: Final = re.compile(r"[^ \t\r\n]+")
# 40,000 characters take 1 ms where their words are known, 15 ms where none is, 21 ms encoded whole; and a
# segment is measured again with each passage that might join it.
_WORDS_KEPT: Final = 20_000


def counting(unit: BudgetUnit) -> tuple[Callable[[str], int], CountedBy]:
    """Return what counts a text in `unit`, and what it counts by.

    Tokens are the default model's, without its begin and end marks. Where its tokenizer is not installed
    they are estimated, the same way each time: one for every five letters or digits of a word, one for each
    punctuation mark and each Chinese, Japanese or Korean character.
    """
    if unit is BudgetUnit.CHARS:
        return len, "code points"
    counted_by: CountedBy = "model" if TokenCounter().is_exact else "estimate"

    def count(text: str) -> int:
        return sum(_tokens_of_word(word, counted_by) for word in _WORD.findall(text))

    return count, counted_by


@lru_cache(maxsize=_WORDS_KEPT)
def _tokens_of_word(word: str, counted_by: CountedBy) -> int:
    return TokenCounter().count(word)
