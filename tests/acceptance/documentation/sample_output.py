"""Comparison of a page's sample output with what a command printed."""

import re
import textwrap

# Scores depend a little on the processor that the model runs on, and on the documents of the demo.
_TOLERANCE = 0.02
_VARIABLE = re.compile(
    r"(?P<any>\s*…\s*)"
    r"|(?P<uuid>[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})"
    r"|(?P<hex>\b[0-9a-f]{20,}\b)"
    r"|(?P<time>\b\d[\d.,]* m?s\b)"
    r"|(?P<number>\d+\.\d+)"
    r"|(?P<bar>━+)"
    r"|(?P<gap>\s+)"
)
_PATTERNS = {
    "any": r".*?",
    "uuid": r"[0-9a-f-]{36}",
    "hex": r"[0-9a-f]{20,}",
    "time": r"\d[\d.,]* m?s",
    "number": r"(\d+\.\d+)",
    "bar": r"━+",
    "gap": r"\s+",
}
_SECONDS_COLUMN = re.compile(r"(seconds\s*\n.*?)[\d.]+\s*$", re.MULTILINE)
_WIDTH = 120


def is_sample_of(sample: str, output: str) -> bool:
    """Return whether an output is the sample but for times, ids, line breaks, and what `…` stands for."""
    # The bar of a stage that is over before it is looked at isn't drawn.
    drawn = {line.partition("━")[0] for line in output.splitlines()}
    lines = sample.strip().splitlines()
    kept = [line for line in lines if "━" not in line or line.partition("━")[0] in drawn]
    sample = _SECONDS_COLUMN.sub(r"\1…", "\n".join(kept))
    pattern, numbers, end = "", [], 0
    for found in _VARIABLE.finditer(sample):
        pattern += re.escape(sample[end : found.start()]) + _PATTERNS[found.lastgroup or "any"]
        if found.lastgroup == "number":
            numbers.append(float(found[0]))
        end = found.end()
    matched = re.fullmatch(pattern + re.escape(sample[end:]), output.strip(), re.DOTALL)
    return matched is not None and all(
        abs(number - float(shown)) <= _TOLERANCE
        for number, shown in zip(numbers, matched.groups(), strict=True)
    )


def wrap_output(output: str) -> str:
    """Return an output as pages show it: long lines are wrapped below their beginning."""
    lines = []
    for line in output.rstrip().splitlines():
        indent = " " * (len(line) - len(line.lstrip()))
        lines += textwrap.wrap(line, _WIDTH, subsequent_indent=indent, break_long_words=False) or [""]
    return "\n".join(line.rstrip() for line in lines) + "\n"
