"""What a log says of a parser that failed: where, and nothing of what it read."""

import traceback
from pathlib import PurePath

_FRAMES = 6


def where_it_failed(error: BaseException) -> str:
    """Return the error's type and where it was raised, innermost first: `ValueError at pdf.py:12,
    table.py:9`.

    Without its message, which may quote the file.
    """
    frames = traceback.extract_tb(error.__traceback__)[: -_FRAMES - 1 : -1]
    places = ", ".join(f"{PurePath(frame.filename).name}:{frame.lineno}" for frame in frames)
    return f"{type(error).__name__} at {places}"
