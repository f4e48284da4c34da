"""Characters: which make up index tokens, and which scripts write words without spaces between them."""

import re
import unicodedata
from itertools import groupby

_CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")


def is_cjk(character: str) -> bool:
    """Say whether `character` is Chinese, Japanese or Korean, where a word may begin inside a run."""
    return _CJK.match(character) is not None


def is_token_character(character: str) -> bool:
    """Say whether `character` belongs to a token of FTS5's unicode61: letters, numbers, private use.

    https://sqlite.org/fts5.html#unicode61_tokenizer, option `categories 'L* N* Co'`. What its tables, which
    are of 2012, do not know, like newer emoji, is a token to it; so is here what Unicode 3.2 did not know:
    some symbols too many, which match nothing, and none too few.
    """
    category = unicodedata.category(character)
    is_listed = category[0] in "LN" or category == "Co"
    return is_listed or unicodedata.ucd_3_2_0.category(character) == "Cn"


def has_token(term: str) -> bool:
    """Say whether any index token can come out of `term`; `(` and `*` have none."""
    return any(is_token_character(character) for character in term)


def tokens_of(term: str) -> list[str]:
    """Give the tokens of `term` in order, case folded, not stemmed; combining marks stay in their token."""
    runs = groupby(term, key=lambda char: is_token_character(char) or unicodedata.category(char)[0] == "M")
    tokens = ("".join(run) for is_token, run in runs if is_token)
    return [token.casefold() for token in tokens if has_token(token)]
