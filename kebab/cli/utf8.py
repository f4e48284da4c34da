"""Arguments that are no UTF-8, whose bytes arrive as surrogates."""

from collections.abc import Mapping
from typing import Any

from kebab.cli.errors import CliError


def refuse_invalid_utf8(options: Mapping[str, Any]) -> None:
    """Raise CliError for text that is not UTF-8, which can't be stored; paths may hold any bytes."""
    for value in options.values():
        for text in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(text, str) and not is_utf8(text):
                raise CliError(f"{text[:200]!r} is not UTF-8; write it in UTF-8.")


def is_utf8(text: str) -> bool:
    """Return whether an argument is valid UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
