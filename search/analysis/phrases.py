"""Index terms in the place of text, as a query passes them through FTS5."""

from collections.abc import Sequence

# What a query analysed before is marked with; control characters don't come from people.
_ANALYSED, _NEXT_POSITION, _ALTERNATIVE = "\x1d", "\x1e", "\x1f"


def analysed_phrase(positions: Sequence[Sequence[str]]) -> str:
    """Return FTS5's string for a phrase of index terms, any of the alternatives at each position."""
    terms = _NEXT_POSITION.join(_ALTERNATIVE.join(alternatives) for alternatives in positions)
    return f'"{_ANALYSED}{terms}"'


def positions_in(text: str) -> list[tuple[str, ...]] | None:
    """Return the positions of what `analysed_phrase` gave; None for any other text."""
    if not text.startswith(_ANALYSED):
        return None
    return [tuple(position.split(_ALTERNATIVE)) for position in text[1:].split(_NEXT_POSITION)]
