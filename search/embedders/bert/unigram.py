"""A tokenizer that cuts words into the most probable pieces (Kudo, "Subword Regularization", 2018).

The pieces are in a trie, in files of 3 MB that processes map. The libraries that would read this vocabulary
take 55 MB (sentencepiece) and 280 MB (tokenizers) of each process; cutting in Python takes 6 µs a token,
0.1 ms a query.
"""

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

import marisa_trie
import numpy as np

from search.embedders.bert.model import encodable
from search.retrieval.errors import EmbedderUnavailable

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
# Characters of the longest piece, as sentencepiece makes them.
_LONGEST = 16
_TRIE, _NUMBERS = "pieces.trie", "pieces.numbers"


def write_pieces(folder: Path, pieces: Callable[[], Iterable[str]], scores: np.ndarray) -> None:
    """Write the files of a tokenizer; `pieces` are read twice, in the order of their numbers.

    `scores`, (pieces,) float32, are the logarithms of their probabilities.
    """
    trie = marisa_trie.Trie(piece for piece in pieces() if piece not in _MARKS)
    numbers = np.zeros(len(trie), np.int32)
    for number, piece in enumerate(pieces()):
        if piece not in _MARKS:
            numbers[trie[piece]] = number
    trie.save(str(folder / _TRIE))
    np.stack([numbers, scores[numbers].view(np.int32)]).tofile(folder / _NUMBERS)


class UnigramTokenizer:
    """A tokenizer for a vocabulary of pieces; safe for threads."""

    def __init__(self, folder: Path, replacements: Mapping[int, str], *, max_tokens: int) -> None:
        """Create the tokenizer of the pieces that `write_pieces` wrote. Raises: EmbedderUnavailable."""
        self._max_tokens = max_tokens
        self._replacements = replacements
        try:
            self._trie = marisa_trie.Trie().mmap(str(folder / _TRIE))
            numbers, scores = np.memmap(folder / _NUMBERS, np.int32, mode="r").reshape(2, len(self._trie))
        except (OSError, RuntimeError, ValueError) as error:
            raise EmbedderUnavailable(
                f"{folder} can't be loaded ({error}); delete it, it is made anew."
            ) from error
        # By the numbers of the trie. Views, since an item of numpy's takes three times as long.
        self._numbers, self._scores = numbers.data, scores.view(np.float32).data
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
        # Of the best way to each end: where its last piece begins, and which it is.
        last = [(0, UNKNOWN)] * (length + 1)
        for start in range(length):
            lone = best[start] + self._unknown_score
            if lone > best[start + 1]:
                best[start + 1], last[start + 1] = lone, (start, UNKNOWN)
            for piece, key in self._trie.iter_prefixes_with_ids(word[start : start + _LONGEST]):
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
