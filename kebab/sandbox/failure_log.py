"""Log text of a failed parser: the place of the failure, nothing of the parsed file."""

import traceback
from pathlib import PurePath

_FRAMES = 6


def failure_location(error: BaseException) -> str:
    """Return the error's type and its stack, innermost first: `ValueError at pdf.py:12, table.py:9`.

    The error's message is left out, because it may quote the file.
    """
    frames = traceback.extract_tb(error.__traceback__)[: -_FRAMES - 1 : -1]
    places = ", ".join(f"{PurePath(frame.filename).name}:{frame.lineno}" for frame in frames)
    return f"{type(error).__name__} at {places}"
