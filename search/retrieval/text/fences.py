"""Code in fences of Markdown."""

import re

_BACKTICKS = re.compile("`{3,}")


def put_in_fence(code: str, language: str = "") -> str:
    """Return code in a fence that is longer than any within it."""
    fence = "`" * (max(map(len, _BACKTICKS.findall(code)), default=2) + 1)
    return f"{fence}{language}\n{code}\n{fence}"
