"""How a text is measured against a budget."""

from collections.abc import Callable

from search.context.request import BudgetUnit
from search.context.types import CountedBy
from search.embedders.tokenizer import TokenCounter


def counting(unit: BudgetUnit) -> tuple[Callable[[str], int], CountedBy]:
    """Give what counts a text in `unit`, and what it counts by.

    Tokens are the default model's, without its begin and end marks. Where its tokenizer is not installed
    they are estimated, the same way each time: one for every five letters or digits of a word, one for each
    punctuation mark and each Chinese, Japanese or Korean character.
    """
    if unit is BudgetUnit.CHARS:
        return len, "code points"
    counter = TokenCounter()
    return counter.count, "model" if counter.is_exact else "estimate"
