"""Parsing of JSON from servers, of bounded breadth and depth."""

import json
import re
from itertools import accumulate
from typing import Any, Final

MAX_DEPTH: Final = 100
#: texts, brackets and commas, each with a value of up to 200 bytes of memory
MAX_MARKS: Final = 1_000_000
# A text may lack its end, or each quotation mark in it would be tried as a start.
_TEXT: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_STEPS: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1, ord(","): 0}
_LEAVES: Final = bytes(set(range(256)) - _STEPS.keys())


def parse_json(content: bytes) -> Any:
    """Return the value of a text in UTF-8. Raises ValueError, also for one that is over the limits."""
    # Quotation marks inside of texts are escaped.
    if content.count(b'"') - content.count(b'\\"') > 2 * MAX_MARKS:
        raise ValueError(f"it has more than {MAX_MARKS:,} texts")
    structure = _TEXT.sub(b"", content).translate(None, _LEAVES)
    if len(structure) > MAX_MARKS:
        raise ValueError(f"it has more than {MAX_MARKS:,} brackets and commas")
    if max(accumulate(map(_STEPS.__getitem__, structure)), default=0) > MAX_DEPTH:
        raise ValueError(f"it has more than {MAX_DEPTH} levels")
    return json.loads(content.decode("utf-8-sig", "surrogatepass"))
