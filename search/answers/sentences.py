"""Division of a paragraph into sentences, in any language."""

import re
from collections.abc import Iterator
from typing import Final

import sentencex

# Ends at which no sentence ends, though the splitter's own lists for the language lack them.
_ABBREVIATED: Final = re.compile(
    r"(?:\b(?:Dr|Prof|St|Mr|Mrs|Ms|Mme|Mlle|MM|Me|approx|max|min|incl|ext|dept|no|nr|tel|tél|réf|env|art|p|n|c|vs)"
    r"|\b[a-z](?:\.\s?[a-z])+|(?<!\w)\b[A-Z]|(?:^|\s)§+\s?\w{0,4})\.[ \u00a0]*\Z",
    re.IGNORECASE,
)
# "Am 3. Stock", "der 24. Dezember": an ordinal, of one or two digits.
_ORDINAL: Final = re.compile(r"(?:\A|[\s(])\d{1,2}\.[ \u00a0]*\Z")
_ORDINAL_LANGUAGES: Final = ("de", "da", "nb", "no", "fi", "cs", "sk", "hu", "pl", "sl", "hr")


def split_sentences(text: str, language: str) -> Iterator[str]:
    """Yield the sentences of a paragraph; `language` is its BCP 47 code, `und` when unknown."""
    code = "en" if language == "und" else language.partition("-")[0]
    held = ""
    for piece in sentencex.segment(code, text):
        held += piece
        if not (_ABBREVIATED.search(held) or (code in _ORDINAL_LANGUAGES and _ORDINAL.search(held))):
            yield held
            held = ""
    if held:
        yield held
