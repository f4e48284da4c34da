"""Edit distance of words: insertions, deletions, substitutions and swaps of neighbours count one each.

The restricted edit distance of F. J. Damerau, "A technique for computer detection and correction of spelling
errors", Communications of the ACM 7(3), 1964; for many terms at once it is computed with arrays.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

#: From this length on a word may have two errors.
_LONG_CHARS: Final = 7
# The same where nobody is asked.
_SAFE_CHARS: Final = 5
_SAFE_LONG_CHARS: Final = 9
#: A shorter word is not corrected: it is close to too many others.
MIN_CHARS: Final = 3
#: A longer one is no word of a language, and has too many parts.
MAX_CHARS: Final = 64
# Maximum number of letters that stemming removes: `-izations`.
_ENDING_CHARS: Final = 7


def allowed_errors(word: str) -> int:
    """Return the number of errors allowed in `word`: two from seven letters on, one from three, else none.

    None are in a word that is too long, either.
    """
    if not MIN_CHARS <= len(word) <= MAX_CHARS:
        return 0
    return 2 if len(word) >= _LONG_CHARS else 1


def safe_errors(word: str) -> int:
    """Return the number of errors to correct unasked: two from nine letters on, one from five, else none."""
    return (len(word) >= _SAFE_CHARS) + (len(word) >= _SAFE_LONG_CHARS)


def edit_distance(word: str, other: str) -> int:
    """Return the edit distance of two words."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(word, start=1):
        before, above, row = row, before, [i] * len(row)
        best = i
        for j, other_letter in enumerate(other, start=1):
            # Comparisons, as calls of min() take three times as long.
            left, best = best, before[j - 1] + (letter != other_letter)
            if left < best:
                best = left + 1
            if before[j] < best:
                best = before[j] + 1
            if i > 1 and j > 1 and letter == other[j - 2] and word[i - 2] == other_letter:
                best = best if best <= above[j - 2] else above[j - 2] + 1
            row[j] = best
    return row[-1]


def distances_to_stems(word: str, terms: Sequence[str]) -> np.ndarray:
    """Return the (n,) float64 distances of `word` to each of `terms`, which may be stems.

    The distance to a prefix of the word counts half an error more. Terms too long or too short to be a stem
    of the intended word are infinitely far.
    """
    lengths = np.fromiter(map(len, terms), np.int64, len(terms))
    errors = allowed_errors(word)
    shortest = max(MIN_CHARS, len(word) - _ENDING_CHARS)
    fits = np.flatnonzero((lengths >= shortest - errors) & (lengths <= len(word) + errors))
    distances = np.full(len(terms), np.inf)
    if len(fits):
        table = _distance_table(word, [terms[at] for at in fits.tolist()])
        ends = table[shortest:, lengths[fits], np.arange(len(fits))]
        distances[fits] = np.minimum(ends[-1], ends.min(axis=0) + 0.5)
    return distances


def _distance_table(word: str, terms: Sequence[str]) -> np.ndarray:
    """Return the distances of all prefixes, of shape (letters of word + 1, longest term + 1, n)."""
    array = np.array(terms, dtype=np.str_)
    longest = array.dtype.itemsize // 4
    letters = np.ascontiguousarray(array.view(np.uint32).reshape(len(terms), longest).T)
    typed = [ord(letter) for letter in word]
    table = np.zeros((len(word) + 1, longest + 1, len(terms)), np.int8)
    table[:, 0] = np.arange(len(word) + 1)[:, None]
    table[0] = np.arange(longest + 1)[:, None]
    for i in range(1, len(word) + 1):
        for j in range(1, longest + 1):
            differs = letters[j - 1] != typed[i - 1]
            best = np.minimum(table[i - 1, j] + 1, table[i, j - 1] + 1)
            best = np.minimum(best, table[i - 1, j - 1] + differs)
            if i > 1 and j > 1:
                is_swap = (letters[j - 1] == typed[i - 2]) & (letters[j - 2] == typed[i - 1])
                best = np.where(is_swap, np.minimum(best, table[i - 2, j - 2] + 1), best)
            table[i, j] = best
    return table
