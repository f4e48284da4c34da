"""What a text is to the lexical index: its tokens, and where each lies.

On top of what FTS5's `unicode61` does (runs of letters and digits, case and diacritics folded) and `porter`
(stems): identifiers are split at their capitals and found whole as well, scripts that write no spaces are
indexed by overlapping pairs of signs, other languages have their own stems, and `C++` is not `C`.
"""

from search.analysis.fts5 import register_tokenizer
from search.analysis.kinds import ANALYSES, STEMMED, UNSTEMMED_WORDS, Analysis
from search.analysis.phrases import analysed_phrase
from search.analysis.stems import ANALYSIS_VERSION
from search.analysis.tokens import Token, analyse, is_prefix, query_terms, query_tokens, relaxed_terms

#: The analysis that every workspace begins with, as an FTS5 table names it.
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
    "analysed_phrase",
    "is_prefix",
    "query_terms",
    "query_tokens",
    "register_tokenizer",
    "relaxed_terms",
]
