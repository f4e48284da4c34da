"""The lexical index as arrays: for each index term the chunks that have it, to be scored by numpy.

FTS5 scores every match of a query before it sorts, and scans a term's whole list once more for its frequency:
on 90,440 chunks 27 ms for the words of a heading. Here a list is read as one array and scored at once, with
FTS5's own formula, so that the scores equal those of `bm25()`. FTS5 remains the index for phrases, prefixes,
raw expressions and snippets, and both are written in one transaction.

Entries are unsigned 64-bit numbers, ascending: the chunk's row, then 16 bits each for the term's count in
breadcrumb and text (65,535 means "at least").
"""

from search.mirror.postings.check import check_postings
from search.mirror.postings.collection import Collection, CollectionCache
from search.mirror.postings.entries import ChunkTable, read_chunk_table, read_postings
from search.mirror.postings.score import (
    Contribution,
    WeightedContribution,
    rows_of_all,
    rows_of_best,
    sums_at,
    take_best,
)
from search.mirror.postings.write import PostingsWriter

__all__ = [
    "ChunkTable",
    "Collection",
    "CollectionCache",
    "Contribution",
    "PostingsWriter",
    "WeightedContribution",
    "check_postings",
    "read_chunk_table",
    "read_postings",
    "rows_of_all",
    "rows_of_best",
    "sums_at",
    "take_best",
]
