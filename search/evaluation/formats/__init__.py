"""The files that topics, judgements and runs are kept in; each format has its own module.

A writer is the inverse of its reader. All readers raise InvalidJudgedSet with file, line and remedy.
"""

from search.evaluation.formats.read import read_topics

__all__ = ["read_topics"]
