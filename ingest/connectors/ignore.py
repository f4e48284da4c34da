"""Ignore rules as defined by gitignore(5) of the Git manual.

Patterns become regular expressions without exponential backtracking: the text after a `*` or `**` is matched
atomically at its first position. That loses no match, since the next star matches the rest.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from ingest.connectors.errors import ListingFailed

MAX_RULES = 5_000
MAX_PATTERN_CHARS = 1_000
NEVER = r"(?!)"
ANY_DIRECTORIES = "(?:[^/]+/)*"
#: an escaped character, a bracket expression, or any other character
GLOB_TOKEN = re.compile(
    r"\\(?P<escaped>.)|(?P<class>\[[!^]?+\]?+(?:\[:[a-z]+:\]|\\.|[^\]\\])*\])|(?P<char>.)", re.DOTALL
)
NAMED_CLASS = re.compile(r"\[:([a-z]*):\]")
POSIX_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\s",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One line of an ignore file."""

    #: a regular expression that matches to the end
    source: str
    is_negated: bool
    is_directory_only: bool
    #: matched against the name alone, not against the path below the ignore file
    is_by_name: bool

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Return the regular expression; compiled lazily, since most rules of a file never match a path."""
        return re.compile(self.source, re.DOTALL)


class IgnoreRules:
    """The rules of one ignore file; the last matching rule decides."""

    def __init__(self, text: str) -> None:
        self.size_chars = len(text)
        lines = text.removeprefix("\ufeff").split("\n")
        self._rules = tuple(rule for line in lines[:MAX_RULES] if (rule := parse_rule(line)) is not None)
        self._any_name = _combine_rules([rule for rule in self._rules if rule.is_by_name])
        self._any_path = _combine_rules([rule for rule in self._rules if not rule.is_by_name])

    def __bool__(self) -> bool:
        return bool(self._rules)

    def verdict(self, path: str, *, is_directory: bool) -> bool | None:
        """Return True if ignored, False if included again by a `!` rule, None if no rule matches.

        Args:
            path: POSIX path relative to the directory of the ignore file.
            is_directory: whether the path is a directory's.
        """
        name = path.rpartition("/")[2]
        if not self._any_name.match(name) and not self._any_path.match(path):
            return None
        for rule in reversed(self._rules):
            if rule.is_directory_only and not is_directory:
                continue
            if rule.pattern.match(name if rule.is_by_name else path):
                return not rule.is_negated
        return None


def parse_rule(line: str) -> Rule | None:
    """Return the rule of one line, None for a blank line, a comment, or a pattern over the limits."""
    line = line.removesuffix("\r")
    stripped = line.rstrip(" ")  # trailing spaces count only behind a backslash
    backslashes = len(stripped) - len(stripped.rstrip("\\"))
    line = stripped + " " if backslashes % 2 and len(stripped) < len(line) else stripped
    if not line or line.startswith("#") or len(line) > MAX_PATTERN_CHARS:
        return None
    is_negated = line.startswith("!")
    glob = line[1:] if is_negated else line
    is_directory_only = glob.endswith("/")
    glob = glob.removesuffix("/")
    if not glob:
        return None
    is_by_name = "/" not in glob
    source = _segment_pattern(glob) if is_by_name else _path_pattern(glob.removeprefix("/"))
    return Rule(
        source=source + r"\Z",
        is_negated=is_negated,
        is_directory_only=is_directory_only,
        is_by_name=is_by_name,
    )


def _combine_rules(rules: Sequence[Rule]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{rule.source})" for rule in rules) or NEVER, re.DOTALL)


def _path_pattern(glob: str) -> str:
    """Return the expression of a pattern with a slash; it is anchored at the ignore file's directory."""
    first, *others = _split_at_double_stars(list(_segments(glob)))
    if not others:
        return "/".join(first)
    start = "".join(segment + "/" for segment in first)
    middle = "".join(f"(?>{ANY_DIRECTORIES}?{'/'.join(group)}/)" for group in others[:-1])
    last = others[-1]
    return start + middle + (ANY_DIRECTORIES + "/".join(last) if last else ".+")


def _segments(glob: str) -> Iterator[str]:
    """Yield the parts of the pattern between slashes; a slash in a bracket expression does not separate."""
    start = 0
    for match in GLOB_TOKEN.finditer(glob):
        if "/" in (match["char"], match["escaped"]):
            yield glob[start : match.start()]
            start = match.end()
    yield glob[start:]


def _split_at_double_stars(segments: Sequence[str]) -> list[list[str]]:
    """Return the segments' patterns, grouped before, between and after `**`; only the outer may be empty."""
    groups: list[list[str]] = [[]]
    for segment in segments:
        if segment != "**":
            groups[-1].append(_segment_pattern(segment))
        elif groups[-1] or len(groups) == 1:
            groups.append([])
    return groups


def _segment_pattern(glob: str) -> str:
    """Return the expression of a name; the text after each star but the last is matched atomically."""
    between = [""]
    for kind, token in _tokens(glob):
        if kind == "star":
            between.append("")
        else:
            between[-1] += token
    first, *others = between
    if not others:
        return first
    middle = "".join(f"(?>[^/]*?{text})" for text in others[:-1] if text)
    return f"{first}{middle}[^/]*{others[-1]}"


def _tokens(glob: str) -> Iterator[tuple[str, str]]:
    if (len(glob) - len(glob.rstrip("\\"))) % 2 == 1:
        yield "text", NEVER  # git: a pattern that ends in a backslash never matches
        return
    for match in GLOB_TOKEN.finditer(glob):
        if match["escaped"]:
            yield "text", re.escape(match["escaped"])
        elif match["class"]:
            yield "text", _character_class(match["class"][1:-1])
        elif match["char"] == "*":
            yield "star", ""
        elif match["char"] == "?":
            yield "text", "[^/]"
        elif match["char"] == "[":
            yield "text", NEVER  # an unclosed bracket never matches
        else:
            yield "text", re.escape(match["char"])


def _character_class(inner: str) -> str:
    """Return the content of a bracket expression as a regular expression that never matches a slash."""
    negation = "^" if inner[:1] in ("!", "^") else ""
    try:
        return f"(?!/)[{negation}{''.join(_class_elements(inner[len(negation) :]))}]"
    except KeyError:  # git: a pattern with an unknown class never matches
        return NEVER


def _class_elements(inner: str) -> Iterator[str]:
    """Yield characters, ranges and named classes as git parses them. Raises KeyError for an unknown class."""
    previous, at = "", 0
    while at < len(inner):
        if inner[at] == "-" and previous and at + 1 < len(inner):
            at += 2 if inner[at + 1] == "\\" else 1
            if previous <= inner[at]:
                yield f"{re.escape(previous)}-{re.escape(inner[at])}"
            previous = ""
        elif named := NAMED_CLASS.match(inner, at):
            yield POSIX_CLASSES[named[1]]
            at, previous = named.end() - 1, ""
        else:
            at += inner[at] == "\\"
            previous = inner[at]
            yield re.escape(previous)
        at += 1


#: Typical files have some hundred bytes. One of this size takes up to 1.5 s to compile.
MAX_IGNORE_FILE_BYTES: Final = 256 * 1024
#: Limit for all ignore files of a walk, counting equal contents once, and for those that apply to one folder,
#: its own and those above it. They take up to 12 s and 90 MB.
MAX_WALK_BYTES: Final = 2 * 1024**2


class IgnoreFiles:
    """A cache of compiled ignore files, by content."""

    def __init__(self) -> None:
        self._by_content: dict[bytes, IgnoreRules] = {}
        self._size_bytes = 0

    def rules(self, path: str, content: bytes) -> IgnoreRules:
        """Return the rules of an ignore file.

        Args:
            path: the file's path, printable.
            content: at least the first MAX_IGNORE_FILE_BYTES + 1 bytes.

        Raises:
            ListingFailed: the file is too large, or all files of the walk together are.
        """
        known = self._by_content.get(content)
        if known is not None:
            return known
        if len(content) > MAX_IGNORE_FILE_BYTES:
            raise ListingFailed(f"{path} has more than {MAX_IGNORE_FILE_BYTES:,} bytes; shorten it.")
        self._size_bytes += len(content)
        if self._size_bytes > MAX_WALK_BYTES:
            raise ListingFailed(
                f"The ignore files up to {path} have more than {MAX_WALK_BYTES:,} bytes together;"
                " shorten them, or list less."
            )
        rules = IgnoreRules(content.decode("utf-8", errors="replace"))
        self._by_content[content] = rules
        return rules

    def check(self, active: Sequence[IgnoreRules], folder: str) -> None:
        """Raise ListingFailed when the ignore files that apply to a folder are too large together."""
        if sum(rules.size_chars for rules in active) > MAX_WALK_BYTES:
            raise ListingFailed(
                f"The ignore files that hold in {folder or 'the root'} have more than {MAX_WALK_BYTES:,}"
                " characters together; shorten them."
            )
