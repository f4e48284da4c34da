"""The table of languages in the documentation, made of the data of the code."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from django.conf import settings
from django.conf.locale import LANG_INFO

from search.analysis.numbers import MONTH_FILE
from search.analysis.stems import ALIASES, LANGUAGE_STEMMERS, SCRIPT_STEMMERS, stems_in
from search.answers import speech
from search.embedders.base import ANY_LANGUAGE
from search.embedders.bert.models import LOCAL_MODELS
from search.retrieval.query.stopwords import STOP_WORDS, read_word_lists
from search.retrieval.text.unicode_scripts import is_unspaced
from tests.support.paths import ROOT

PAGE: Final = ROOT / "docs" / "languages.md"
# A letter of each language that writes no spaces between words, or attaches particles to them.
_LETTERS_OF_UNSPACED: Final = {"ja": "あ", "km": "ក", "ko": "한", "lo": "ກ", "my": "က", "th": "ก", "zh": "字"}
# Those that Django doesn't name.
_NAMES: Final = {"lo": "Lao", "no": "Norwegian", "tl": "Filipino", "yi": "Yiddish", "zh": "Chinese"}
_TABLE: Final = re.compile(r"^\| language \|.*\n(?:\|.*\n)*", re.MULTILINE)


def generate_page(page: str) -> str:
    """Return the page's text with its table written anew."""
    return _TABLE.sub(lambda _: generate_table(), page, count=1)


def generate_table() -> str:
    """Return the table, a row for each language by name."""
    has_months = read_word_lists(MONTH_FILE)
    has_requests = read_word_lists(Path(speech.__file__).with_suffix(".txt"))
    rows: list[Mapping[str, str]] = []
    for code in sorted({*STOP_WORDS, *LANGUAGE_STEMMERS, *_LETTERS_OF_UNSPACED}, key=_name_of):
        letters = [word[0] for word in sorted(STOP_WORDS.get(code, ()))] or [_LETTERS_OF_UNSPACED[code]]
        is_in_pairs = is_unspaced(letters[0])
        rows.append(
            {
                "language": _name_of(code),
                "code": ", ".join([code, *(alias for alias, same in ALIASES.items() if same == code)]),
                "words by": "pairs" if is_in_pairs else "spaces",
                "stems": _stems_of(code, letters),
                "stop words": _mark(code in STOP_WORDS),
                "months": _mark(code in has_months),
                "requests": _mark(code in has_requests),
                "spelling": _mark(not is_in_pairs),
                **{name: _mark(_speaks(model.languages, code)) for name, model in LOCAL_MODELS.items()},
                "pages": _mark(code in dict(settings.LANGUAGES)),
            }
        )
    lines = [rows[0], dict.fromkeys(rows[0], "---"), *rows]
    cells = [list(rows[0]), *(list(line.values()) for line in lines[1:])]
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def _name_of(code: str) -> str:
    return _NAMES.get(code) or LANG_INFO[code]["name"]


def _stems_of(code: str, letters: Iterable[str]) -> str:
    """Return the name of Snowball's algorithm for a language; English alone has the one of Latin letters."""
    if code in LANGUAGE_STEMMERS:
        return LANGUAGE_STEMMERS[code]
    scripts = {unicodedata.name(letter).partition(" ")[0] for letter in letters}
    by_script = [SCRIPT_STEMMERS[each] for each in sorted(scripts & SCRIPT_STEMMERS.keys())]
    if by_script and (by_script != [SCRIPT_STEMMERS["LATIN"]] or code == "en"):
        return ", ".join(by_script)
    return "own rules" if any(stems_in(None, 3 * letter) for letter in letters) else ""


def _speaks(languages: Iterable[str], code: str) -> bool:
    return not {ANY_LANGUAGE, code}.isdisjoint(languages)


def _mark(is_there: bool) -> str:
    return "yes" if is_there else ""
