"""What a query that found nothing may have meant, in words of the corpus that the caller may see."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import apsw

from search.access.scope import Scope
from search.engine.readback import read_passages
from search.mirror.errors import MirrorError
from search.mirror.query.reader import MirrorReading
from search.mirror.query.spelling import Spelling, in_one, spellings
from search.mirror.query.vocabulary import Vocabulary
from search.retrieval.query.match import parse_query
from search.retrieval.query.stopwords import content_terms
from search.retrieval.text.unicode_scripts import RUN, fold, is_unspaced, words_of

#: Gives breadcrumb and text of those of some chunks that stand under a scope, by id.
ReadPassages = Callable[[Scope, Sequence[str]], Mapping[str, tuple[str, str]]]

# Words of one query that are looked up; each takes a few milliseconds.
_LOOKED_UP = 4
_READ_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class _Typed:
    """One word of the query, or two neighbours, and how it may have been meant."""

    start: int
    end: int
    spellings: Sequence[Spelling]


def did_you_mean(reading: MirrorReading, text: str, read: ReadPassages = read_passages) -> str | None:
    """Return the query as it was probably meant; None where the corpus suggests nothing else.

    To be asked when nothing matched. A word stands in for another only if a chunk in the scope of `reading`
    has it, as `read` says; without it Postgres does.
    """
    if parse_query(text).raw is not None:
        return None
    try:
        with reading.connection() as connection:
            typed = list(_looked_up(Vocabulary(reading, connection), text[:_READ_CHARS]))
    except (MirrorError, apsw.InterruptError):
        return None
    chunk_ids = {id_ for each in typed for spelling in each.spellings for id_ in spelling.chunk_ids}
    standing = read(reading.scope, sorted(chunk_ids)) if chunk_ids else {}
    meant = _respelled(text, typed, standing)
    return None if fold(meant) == fold(text) else meant


def _looked_up(vocabulary: Vocabulary, text: str) -> Iterator[_Typed]:
    """Pairs before words, in the order of the text."""
    runs = [run for run in RUN.finditer(text) if not is_unspaced(run[0][0])]
    content = set(content_terms([run[0] for run in runs]))
    words = [run for run in runs if run[0] in content][:_LOOKED_UP]
    for one, other in pairwise(words):
        if text[one.end() : other.start()] in (" ", "-"):
            yield _Typed(one.start(), other.end(), in_one(vocabulary, (one[0], other[0])))
    for word in words:
        yield _Typed(word.start(), word.end(), spellings(vocabulary, word[0]))


def _respelled(text: str, typed: Sequence[_Typed], standing: Mapping[str, tuple[str, str]]) -> str:
    """Put the best spelling that stands in the place of each; neighbours that are one word come first."""
    meant: dict[tuple[int, int], str] = {}
    for each in typed:
        is_taken = any(start < each.end and each.start < end for start, end in meant)
        best = next((one for one in each.spellings if _stands(one, standing)), None)
        if best is not None and not is_taken:
            meant[each.start, each.end] = best.text
    for (start, end), spelling in sorted(meant.items(), reverse=True):
        if fold(spelling) != fold(text[start:end]):
            text = text[:start] + spelling + text[end:]
    return text


def _stands(spelling: Spelling, standing: Mapping[str, tuple[str, str]]) -> bool:
    sought = f" {fold(spelling.text)} "
    return any(
        sought in f" {' '.join(words_of(' '.join(standing[id_])))} "
        for id_ in spelling.chunk_ids
        if id_ in standing
    )
