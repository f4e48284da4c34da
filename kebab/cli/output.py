"""Output of commands: tables for people, JSON for programs."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:  # they take longer to import than most commands take to run
    from rich.console import Console
    from rich.table import Table

# For pipes: a table folded at 80 columns can't be processed by other programs.
_PIPED_WIDTH = 1_000
# Documents' text may hold escape sequences, which a terminal would execute. Bytes of a path that are no UTF-8
# are surrogates here, which can't be encoded.
_SURROGATES = "\ud800-\udfff"
_CONTROLS = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069{_SURROGATES}]")
# Times in the API's documents are in UTC.
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d(?:\.\d+)?(?:Z|\+00:00)")
_UNWRITABLE = re.compile(f"[{_SURROGATES}]")


def people_console(stream: TextIO) -> "Console":
    """Return a rich console on `stream` that prints text as it is: no markup, no emoji codes."""
    from rich.console import Console

    width = None if stream.isatty() else _PIPED_WIDTH
    return Console(file=stream, width=width, markup=False, emoji=False, highlight=False, soft_wrap=True)


def plain(value: Any) -> str:
    """Return `value` as text that is safe on a terminal: control characters become U+FFFD, None is empty."""
    return "" if value is None else _CONTROLS.sub("\ufffd", str(value))


def table(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> "Table":
    """Return a table of `rows` with these `columns`; times are in UTC, to the minute."""
    from rich.table import Table
    from rich.text import Text

    result = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        # A folded id can't be copied.
        result.add_column(column.replace("_", " "), overflow="fold", no_wrap=column == "id")
    for row in rows:
        result.add_row(*(Text(format_cell(row.get(column))) for column in columns))
    return result


def write_json(stream: TextIO, document: Any) -> None:
    """Write one JSON document on one line (also for NDJSON), flushed so that a reader sees it at once."""
    text = json.dumps(document, default=_encode, ensure_ascii=False)
    stream.write(_UNWRITABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")
    stream.flush()


def format_cell(value: Any) -> str:
    """Return a value as the text of a cell."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}Z"
    if isinstance(value, str) and (time := _TIME.fullmatch(value)):
        return f"{time[1]} {time[2]}Z"
    if isinstance(value, Mapping):
        return ", ".join(f"{plain(name)}: {format_cell(inner)}" for name, inner in value.items())
    return plain(", ".join(map(str, value)) if isinstance(value, (list, tuple)) else value)


def _encode(value: Any) -> Any:
    from django.core.serializers.json import DjangoJSONEncoder  # answers of a server have no such values

    return DjangoJSONEncoder().default(value)
