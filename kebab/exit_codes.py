"""The exit codes of commands and processes."""

from enum import IntEnum


class Exit(IntEnum):
    """The exit codes of commands."""

    DONE = 0
    #: What was looked for doesn't exist, or nothing was found.
    NOTHING = 1
    ERROR = 2
    UNHEALTHY = 3
