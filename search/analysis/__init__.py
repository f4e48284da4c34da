"""Text analysis for the lexical index: tokens with offsets.

It extends FTS5's `unicode61` (runs of letters and digits, case and diacritics folded) and `porter` (stems):
identifiers are split at their capitals and indexed whole as well, `e-mail` is also email, `16GB` also 16 GB,
unspaced scripts are indexed by character bigrams, other languages have their own stems, and `C++` is not `C`.
"""

from search.analysis.fts5 import register_tokenizer
from search.analysis.kinds import ANALYSES, STEMMED, UNSTEMMED_WORDS, Analysis, encode_phrase
from search.analysis.stems import ANALYSIS_VERSION
from search.analysis.tokens import (
    Token,
    analyse,
    is_prefix,
    joined_terms,
    joined_tokens,
    number_terms,
    query_terms,
    query_tokens,
    relaxed_terms,
)

#: The default analysis of a workspace, by its tokenizer name in FTS5.
TOKENIZER = STEMMED.tokenizer

__all__ = [
    "ANALYSES",
    "ANALYSIS_VERSION",
    "STEMMED",
    "TOKENIZER",
    "UNSTEMMED_WORDS",
    "Analysis",
    "Token",
    "analyse",
    "encode_phrase",
    "is_prefix",
    "joined_terms",
    "joined_tokens",
    "number_terms",
    "query_terms",
    "query_tokens",
    "register_tokenizer",
    "relaxed_terms",
]
