"""A tokenizer that cuts words into the most probable pieces (Kudo, "Subword Regularization", 2018).

The pieces are in a trie of 0.8 MB. The libraries that would read this vocabulary take 55 MB (sentencepiece)
and 280 MB (tokenizers) of each process; cutting in Python takes 6 µs a token, 0.1 ms a query.
"""

import unicodedata
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

import marisa_trie
import numpy as np

from search.embedders.bert.model import encodable

#: The numbers of the marks, as all models with XLM-RoBERTa's vocabulary have them.
BEGIN: Final = 0
END: Final = 2
UNKNOWN: Final = 3
#: What stands for the blank before a word.
_BLANK: Final = "\u2581"
# What an unknown character costs more than the least probable piece, as in sentencepiece.
_UNKNOWN_COST = 10.0
_MARKS = frozenset({"<s>", "<pad>", "</s>", "<unk>", "<mask>"})
# Characters read for a token; words have fewer on average, and a word of more than these is cut.
_CHARS_PER_TOKEN = 40
_MAX_WORD = 1_000
_CACHED_WORDS = 20_000


class UnigramTokenizer:
    """A tokenizer for a vocabulary of pieces; safe for threads."""

    def __init__(
        self,
        pieces: Callable[[], Iterable[str]],
        scores: np.ndarray,
        replacements: Mapping[int, str],
        *,
        max_tokens: int,
    ) -> None:
        """Create the tokenizer; `pieces` are read twice, in the order of their numbers.

        `scores`, (pieces,) float32, are the logarithms of their probabilities.
        """
        self._max_tokens = max_tokens
        self._replacements = replacements
        self._trie = marisa_trie.Trie(piece for piece in pieces() if piece not in _MARKS)
        numbers = np.zeros(len(self._trie), np.int32)
        self._longest = 0
        for number, piece in enumerate(pieces()):
            if piece not in _MARKS:
                numbers[self._trie[piece]] = number
                self._longest = max(self._longest, len(piece))
        # By the numbers of the trie. Arrays, since an item of numpy's takes three times as long.
        self._numbers = array("i", numbers.tobytes())
        self._scores = array("f", scores[numbers].tobytes())
        self._unknown_score = min(self._scores) - _UNKNOWN_COST
        self._cut_word = lru_cache(_CACHED_WORDS)(self._cut)

    def token_ids(self, text: str) -> list[int]:
        """Return the numbers of the text's pieces, 2 to `max_tokens` with begin and end marks."""
        most = self._max_tokens - 1
        ids = [BEGIN]
        read = unicodedata.normalize("NFKC", encodable(text[: self._max_tokens * _CHARS_PER_TOKEN]))
        for word in read.translate(self._replacements).split():
            for start in range(0, len(word), _MAX_WORD):
                ids += self._cut_word((_BLANK if start == 0 else "") + word[start : start + _MAX_WORD])
            if len(ids) >= most:
                break
        return [*ids[:most], END]

    def _cut(self, word: str) -> Sequence[int]:
        """Return the numbers of the pieces whose probabilities have the greatest product."""
        length = len(word)
        best = [0.0, *[-float("inf")] * length]
        last = [(0, UNKNOWN)] * (
            length + 1
        )  # of the best way to each end: where its last piece begins, which
        for start in range(length):
            lone = best[start] + self._unknown_score
            if lone > best[start + 1]:
                best[start + 1], last[start + 1] = lone, (start, UNKNOWN)
            for piece, key in self._trie.iter_prefixes_with_ids(word[start : start + self._longest]):
                end, score = start + len(piece), best[start] + self._scores[key]
                if score > best[end]:
                    best[end], last[end] = score, (start, self._numbers[key])
        ids: list[int] = []
        end = length
        while end > 0:
            end, number = last[end]
            if number != UNKNOWN or not ids or ids[-1] != UNKNOWN:
                ids.append(number)
        return ids[::-1]
