"""Parsing of UUIDs written by people and tools."""

import uuid


def parse_uuid(text: str) -> uuid.UUID | None:
    """Parse a UUID; return None for any other text."""
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
