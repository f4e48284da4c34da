"""Ids as people and tools write them."""

import uuid


def as_uuid(text: str) -> uuid.UUID | None:
    """Return the id that `text` reads as; None for any other text."""
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
