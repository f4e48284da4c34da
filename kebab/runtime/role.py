"""The role of this process in its node: `web`, `worker`, `mirror` …; `verb` for a one-off command."""

import contextlib
import logging
import resource
from typing import Final

#: The role of a process that has not been given one.
COMMAND: Final = "verb"

_role = COMMAND

# Every connection and every open mirror takes a file descriptor; shells often allow 1,024.
_OPEN_FILES = 65_536


def own_role() -> str:
    """Return the role of this process."""
    return _role


def set_role(role: str) -> None:
    """Set the role of this process for logs, metrics and traces, and raise its limit of open files."""
    global _role
    _role = role
    # Warnings of the interpreter and libraries go to the log.
    logging.captureWarnings(True)
    _raise_open_file_limit()


def _raise_open_file_limit() -> None:
    """Raise the limit of open files as far as the system allows; children inherit it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(_OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < target:
        with contextlib.suppress(ValueError, OSError):  # some systems have a further limit
            resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
