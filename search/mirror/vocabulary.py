"""The index's own words: terms by how they begin, and chunks that have them. Words are stems here.

How often a term stands is the space its posting list takes: the unit doesn't matter to who ranks by it.
"""

from collections.abc import Iterable, Sequence

import apsw

from search.analysis import analysed_phrase
from search.mirror.filters import Clause
from search.retrieval.definitions import Passage

# Behind every letter.
_LAST = "\U0010ffff"

_BEGINNING = """
SELECT p.term, sum(length(p.entries)) FROM parts q CROSS JOIN postings p
ON p.part = q.part AND p.term >= ? AND p.term < ? GROUP BY p.term
"""
_FREQUENCIES = """
SELECT p.term, sum(length(p.entries)) FROM parts q CROSS JOIN json_each(?) t CROSS JOIN postings p
ON p.part = q.part AND p.term = t.value GROUP BY p.term
"""
