"""What this process does in its node: `web`, `worker`, `mirror` …; `verb` for all that ends by itself."""

import contextlib
import logging
import resource
from typing import Final

#: A process that nobody has given a role.
VERB: Final = "verb"

_role = VERB

# Every connection and every mirror that is read is an open file; shells often allow 1,024.
_OPEN_FILES = 65_536


def own_role() -> str:
    """Return the role of this process."""
    return _role


def take_role(role: str) -> None:
    """Have this process known by `role` in logs, metrics and traces."""
    global _role
    _role = role
    # What the interpreter and libraries warn of is a line of the log like any other.
    logging.captureWarnings(True)
    _allow_open_files()


def _allow_open_files() -> None:
    """Raise what this process may open to what the system lets it have; its children inherit that."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(_OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(ValueError, OSError):  # some systems have another limit beside it
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
