"""Generated documents: each has a word of its own, and each of its revisions another.

The words have no vowels, so that no stemmer, filler word or splitting of names interferes.
"""

import random
import re

_DIGITS = str.maketrans("0123456789", "bcfghjkmpq")
_REVISION = re.compile(r"\br[bcfghjkmpq]+v[bcfghjkmpq]+\b")
_SYLLABLES = ("ka", "lo", "mi", "ren", "tu", "sha", "vel", "dor", "pi", "nu", "gra", "ti", "om", "fal")
_MOST_SECTIONS = 4


def key_word(document: int) -> str:
    """Return the word that all revisions of a document have, and no other document."""
    return "k" + str(document).translate(_DIGITS)


def revision_word(document: int, revision: int) -> str:
    """Return the word that one revision of a document has in each of its chunks."""
    return f"r{str(document).translate(_DIGITS)}v{str(revision).translate(_DIGITS)}"


def revision_words(text: str) -> set[str]:
    """Return every revision's word in a text."""
    return set(_REVISION.findall(text))


def make_text(rng: random.Random, document: int, revision: int) -> str:
    """Return a Markdown text of one to four sections, a chunk each."""
    words = f"{key_word(document)} {revision_word(document, revision)}"
    parts = [f"# Note {key_word(document)}\n\nIt begins with {words}. {_filler(rng)}\n"]
    for number in range(1, rng.randint(1, _MOST_SECTIONS)):
        parts.append(f"## Part {number}\n\nHere is {words} again. {_filler(rng)}\n")
    return "\n".join(parts)


def _filler(rng: random.Random) -> str:
    return " ".join("".join(rng.choices(_SYLLABLES, k=3)) for _ in range(rng.randint(8, 24))) + "."
