"""What this process does in its node: `web`, `worker`, `mirror` …; `verb` for all that ends by itself."""

import logging
from typing import Final

#: A process that nobody has given a role.
VERB: Final = "verb"

_role = VERB


def own_role() -> str:
    """Give the role of this process."""
    return _role


def take_role(role: str) -> None:
    """Have this process known by `role` in logs, metrics and traces."""
    global _role
    _role = role
    # What the interpreter and libraries warn of is a line of the log like any other.
    logging.captureWarnings(True)
