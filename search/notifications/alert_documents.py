"""Documents that alerts were sent of: each once, until the passage by which it matches has another text."""

import uuid
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from search.models import AlertDocument, Document, SavedSearch
from search.retrieval.query.edit_distance import MIN_CHARS, edit_distance
from search.retrieval.text.snippet import Highlight, sentence_starts
from search.retrieval.text.unicode_scripts import is_unspaced, words_of
from search.retrieval.types import MAX_SECTIONS, SearchHit

# Characters that are compared of each passage.
_MOST_CHARS: Final = 4_000


def record_matches(
    saved: SavedSearch, hits: Sequence[SearchHit], changed: Iterable[uuid.UUID]
) -> list[SearchHit]:
    """Store by which passages documents match now; return the hits that an alert is due of.

    `hits` are those of the `changed` documents that match; the others are forgotten. Call it in the
    transaction that queues the alert.
    """
    rows = AlertDocument.objects.in_workspace(saved.workspace_id).filter(saved_search=saved.pk)
    matching = {uuid.UUID(hex=hit.doc_id): hit for hit in hits}
    rows.filter(document__doc_id__in=set(changed) - matching.keys()).delete()
    before = dict(rows.filter(document__doc_id__in=matching).values_list("document__doc_id", "passages"))
    ids = Document.objects.in_workspace(saved.workspace_id).filter(doc_id__in=matching)
    passages = {doc_id: matched_passages(hit) for doc_id, hit in matching.items()}
    AlertDocument.objects.bulk_create(
        [
            AlertDocument(
                workspace_id=saved.workspace_id,
                saved_search=saved,
                document_id=pk,
                passages=passages[doc_id],
            )
            for doc_id, pk in ids.values_list("doc_id", "pk")
        ],
        update_conflicts=True,
        unique_fields=["workspace", "saved_search", "document"],
        update_fields=["passages"],
    )
    return [hit for doc_id, hit in matching.items() if is_news(hit, passages[doc_id], before.get(doc_id, ()))]


def matched_passages(hit: SearchHit) -> list[str]:
    """Return the folded words around those of the query in the passages of a document, the best one first."""
    return [_words_around(each.snippet, each.highlights) for each in hit.sections or ()]


def is_news(hit: SearchHit, passages: Sequence[str], before: Sequence[str]) -> bool:
    """Return whether a document has a passage that none `before` equals, but for its spelling.

    Of more passages than a hit shows only the best one counts, as others come and go with their ranks.
    """
    shown = passages if (hit.section_count or 0) <= MAX_SECTIONS else passages[:1]
    return any(not any(_is_same(passage, other) for other in before) for passage in shown)


def _words_around(text: str, highlights: Sequence[Highlight]) -> str:
    """Return the words of the sentences with a highlight and of their neighbours; all without any."""
    spans = _sentences(text)
    found = {
        number
        for number, (start, end) in enumerate(spans)
        if any(low < end and high > start for low, high in highlights)
    }
    near = [
        text[start:end]
        for number, (start, end) in enumerate(spans)
        if not found or found & {number - 1, number, number + 1}
    ]
    return " ".join(words_of(" ".join(near)[:_MOST_CHARS]))


def _sentences(text: str) -> list[Highlight]:
    starts = [0, *sentence_starts(text), len(text)]
    return list(pairwise(starts))


def _is_same(passage: str, other: str) -> bool:
    words, others = passage.split(), other.split()
    return len(words) == len(others) and all(map(_is_respelling, words, others))


def _is_respelling(word: str, other: str) -> bool:
    """Return whether two words are equal but for a mistyped letter. Numbers and signs are never mistyped."""
    if word == other:
        return True
    if not (word.isalpha() and other.isalpha()) or is_unspaced(word[0]):
        return False
    if len(word) <= MIN_CHARS or len(other) <= MIN_CHARS:
        return len(word) == MIN_CHARS and sorted(word) == sorted(other)
    return abs(len(word) - len(other)) <= 1 and edit_distance(word, other) <= 1
