"""How lines of the log are written: for people, or one JSON object each for what collects them."""

import json
import logging
import os
import traceback
from datetime import UTC, datetime
from typing import Any, Final

from kebab.observability.log_context import known_facts
from kebab.runtime.role import own_role

#: What a line for people names behind its words.
_SHOWN: Final = ("request_id", "job_id")


class Lines(logging.Formatter):
    """Time, level, logger and message; what was asked for by whom at the end."""

    def __init__(self) -> None:
        super().__init__("{asctime} {levelname} {name} {message}", style="{")

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Write the line itself; a trace follows on others."""
        facts = known_facts()
        told = " ".join(f"{name.removesuffix('_id')}={facts[name]}" for name in _SHOWN if name in facts)
        line = super().formatMessage(record)
        return f"{line} [{told}]" if told else line


class JsonLines(logging.Formatter):
    """One object a line, whatever the message holds."""

    def __init__(self, node: str) -> None:
        super().__init__()
        self._node = node

    def format(self, record: logging.LogRecord) -> str:
        """Write a record."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {
            "time": at.replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "node": self._node,
            "role": own_role(),
            "pid": os.getpid(),
            "thread": record.threadName,
            **known_facts(),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line["exception"] = _exception(record.exc_info[1])
        return json.dumps(line, default=str)


def _exception(error: BaseException) -> dict[str, str]:
    return {"type": type(error).__qualname__, "trace": "".join(traceback.format_exception(error))}
