"""Log formatters: lines for people, or one JSON object per line for log collectors."""

import json
import logging
import os
import traceback
from datetime import UTC, datetime
from typing import Any, Final

from kebab.observability.log_context import current_log_fields
from kebab.runtime.role import own_role

#: The log fields at the end of a line for people.
_LINE_FIELDS: Final = ("request_id", "job_id")


class LineFormatter(logging.Formatter):
    """A formatter of lines: time, level, logger and message, then request and job."""

    def __init__(self) -> None:
        super().__init__("{asctime} {levelname} {name} {message}", style="{")

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Format the first line; a traceback follows on further ones."""
        log_fields = current_log_fields()
        fields = " ".join(
            f"{name.removesuffix('_id')}={log_fields[name]}" for name in _LINE_FIELDS if name in log_fields
        )
        line = super().formatMessage(record)
        return f"{line} [{fields}]" if fields else line


class JsonFormatter(logging.Formatter):
    """A formatter of one JSON object per line, whatever the message holds."""

    def __init__(self, node: str) -> None:
        super().__init__()
        self._node = node

    def format(self, record: logging.LogRecord) -> str:
        """Format a record."""
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
            **current_log_fields(),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line["exception"] = _describe_exception(record.exc_info[1])
        return json.dumps(line, default=str)


def _describe_exception(error: BaseException) -> dict[str, str]:
    return {"type": type(error).__qualname__, "trace": "".join(traceback.format_exception(error))}
