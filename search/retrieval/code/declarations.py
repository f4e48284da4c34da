"""Detection of declarations and definitions of a name by its line, in any code or settings language."""

import re

_QUOTES = "[`'\"*_]*"
# public static, export default, pub(crate)
_MODIFIERS = r"[ \t]*(?:[a-z]+(?:\([a-z]+\))? +){0,4}"
_KEYWORDS = (
    r"(?:def|class|function\*?|func|fn|fun|interface|type|enum|struct|union|trait|impl|module|namespace|package"
    r"|object|const|let|var|val|sub|proc|macro_rules!|#[ \t]*define|typedef\b.*|CREATE TABLE|create table)"
)
_DECLARED_BEFORE = re.compile(rf"{_MODIFIERS}{_KEYWORDS}[ \t]+")

#: Patterns for the text before and after a defined name, from the start of its line and to the end.
_DEFINITIONS = (
    # name = value, name: type = value
    (re.compile(_MODIFIERS), re.compile(r"(?:[ \t]*:[^=]*)?[ \t]*=(?![=>])")),
    # name: value, - "name": value, > **name**: what it is
    (re.compile(rf"[ \t]*(?:[>*+-] +)*{_QUOTES}"), re.compile(rf"{_QUOTES}\??:(?!:)")),
    # static int name(parameters) {
    (
        re.compile(
            r"[ \t]*(?!(?:return|await|yield|new|else|throw|raise|if|elif|while|for|in|not|and|or|print"
            r"|import|from|case)\b)(?:[\w:<>\[\],~]+[ \t*&]+){1,5}"
        ),
        re.compile(r"[ \t]*\((?:.*[{(,;)])?[ \t]*$"),
    ),
)
_ENTRY_BEFORE = re.compile(r"[ \t|>*+-]*[`*_'\"\[<]*")


def is_declared(before: str) -> bool:
    """Return whether a name after `before`, the start of its line, is declared, as in `def name`."""
    return _DECLARED_BEFORE.fullmatch(before) is not None


def is_defined(before: str, after: str) -> bool:
    """Return whether the line assigns the name a value or a type.

    Examples: `name = 1`, `name: 1`, `int name(int other);`.
    """
    return any(left.fullmatch(before) and right.match(after) for left, right in _DEFINITIONS)


def is_entry(before: str) -> bool:
    """Return whether the line begins with the name, as in a list or a table."""
    return _ENTRY_BEFORE.fullmatch(before) is not None
