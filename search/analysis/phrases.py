"""Encoding of index terms as text, to pass an analysed query through FTS5."""

from collections.abc import Sequence

# Markers of an encoded phrase: control characters, which no user types.
_ANALYSED, _NEXT_POSITION, _ALTERNATIVE = "\x1d", "\x1e", "\x1f"


def encode_phrase(positions: Sequence[Sequence[str]]) -> str:
    """Return the FTS5 string for a phrase of index terms, with the alternatives at each position."""
    terms = _NEXT_POSITION.join(_ALTERNATIVE.join(alternatives) for alternatives in positions)
    return f'"{_ANALYSED}{terms}"'


def decode_phrase(text: str) -> list[tuple[str, ...]] | None:
    """Return the positions encoded by `encode_phrase`; None for any other text."""
    if not text.startswith(_ANALYSED):
        return None
    return [tuple(position.split(_ALTERNATIVE)) for position in text[1:].split(_NEXT_POSITION)]
