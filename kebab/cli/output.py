"""What verbs print: tables for people, JSON for programs."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TextIO

from django.core.serializers.json import DjangoJSONEncoder
from rich.console import Console
from rich.table import Table
from rich.text import Text

# What reads a pipe cuts lines itself; a table folded at 80 columns is of no use to it.
_PIPED_WIDTH = 1_000
# Documents' text may hold escape sequences, which a terminal would obey. A path's bytes that are no UTF-8 are
# surrogates here, which nothing can be written with.
_SURROGATES = "\ud800-\udfff"
_CONTROLS = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069{_SURROGATES}]")
_UNWRITABLE = re.compile(f"[{_SURROGATES}]")


def people_console(stream: TextIO) -> Console:
    """Return a rich console on `stream` that takes text as it is: no markup, no emoji codes."""
    width = None if stream.isatty() else _PIPED_WIDTH
    return Console(file=stream, width=width, markup=False, emoji=False, highlight=False, soft_wrap=True)


def plain(value: Any) -> str:
    """Return `value` so that a terminal only shows it: control characters become U+FFFD, None is empty."""
    return "" if value is None else _CONTROLS.sub("\ufffd", str(value))


def table(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Table:
    """Return a table of `rows`, one column for each of `columns`; times are in UTC, to the minute."""
    drawn = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        drawn.add_column(column.replace("_", " "), overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(_cell(row.get(column))) for column in columns))
    return drawn


def write_json(stream: TextIO, document: Any) -> None:
    """Write one JSON document on one line (so NDJSON too), flushed so that a reader sees it at once."""
    text = json.dumps(document, cls=DjangoJSONEncoder, ensure_ascii=False)
    stream.write(_UNWRITABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")
    stream.flush()


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}Z"
    if isinstance(value, Mapping):
        return ", ".join(f"{plain(name)}: {_cell(inner)}" for name, inner in value.items())
    return plain(", ".join(map(str, value)) if isinstance(value, (list, tuple)) else value)
