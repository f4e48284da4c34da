"""View models of hits for the search page."""

import re
import uuid
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, pgettext
from django.utils.translation import gettext_lazy as _

from kebab.identity.caller import Access
from search.documents.addresses import place_path
from search.engine.facets import source_titles
from search.evaluation.feedback import own_feedback
from search.pages.bookmarks import bookmark_address, bookmarked
from search.pages.file_kind import file_kind
from search.pages.search.filters import language_name
from search.pages.search.form import SearchInput
from search.retrieval.text.snippet import Highlight
from search.retrieval.types import HitSection, Mode, RetrievalDetail, SearchHit

# Blank lines double the length of code; prose has no line ends.
_BLANK_LINES = re.compile(r"\n[ \t]*(?=\n)")

_MEANINGS = {
    "lexical": _("Word match"),
    "vector": _("Similar meaning"),
    "exact": _("Name as written"),
    "fused": _("Combined"),
    "reranked": _("Compared with the query again"),
}


def present_hits(
    access: Access, search_input: SearchInput, hits: Sequence[SearchHit]
) -> list[dict[str, Any]]:
    """Return the hits as the page shows them, each a document with its best passage, in their order."""
    feedback = own_feedback(access, search_input.text) if hits else {}
    marked = bookmarked(access, [hit.doc_id for hit in hits]) if hits else set()
    keys = sorted({hit.source for hit in hits})
    sources = source_titles(access.workspace, access.reader, keys) if keys else {}
    return [
        {
            "hit": hit,
            "rank": str(hit.rank),  # a part of ids of elements, which aren't written as numbers are
            "kind": file_kind(hit.doc_path, hit.code_lang),
            # Where the title is the path, the file name.
            "title": hit.title if hit.title not in ("", hit.doc_path) else hit.doc_path.rpartition("/")[2],
            "place": (sources.get(hit.source, hit.source), *hit.doc_path.split("/")[:-1]),
            "facts": [fact for fact in (_language(hit), hit.version, hit.author) if fact],
            "headings": subheadings(hit.heading_path, hit.title),
            "address": _address(access, hit, hit, search_input),
            "snippet": mark_words(hit.snippet, hit.highlights),
            # Those after the best one, and the number of those not shown.
            "sections": [
                {
                    "name": section.section_label or section.citation.uri,
                    "uri": section.citation.uri,
                    "address": _address(access, hit, section, search_input),
                    "snippet": mark_words(section.snippet, section.highlights),
                }
                for section in (hit.sections or ())[1:]
            ],
            "hidden_sections": (hit.section_count or 0) - len(hit.sections or ()),
            "reason": _reason(hit.retrieval),
            "legs": _leg_bars(hit.retrieval),
            "is_bookmarked": hit.doc_id in marked,
            # The address to which the button that sets or removes the bookmark posts.
            "bookmark": bookmark_address(access.workspace, hit.doc_id, is_set=hit.doc_id in marked),
            "votes": _votes(access, hit, feedback.get((hit.source, hit.version or "", hit.citation.uri))),
        }
        for hit in hits
    ]


def mark_words(snippet: str, highlights: Sequence[Highlight]) -> SafeString:
    """Return a snippet as markup, its highlights, which are ordered and disjoint, marked.

    Joined here, as the template engine takes half of the time of a page for loops over pieces of text.
    """
    parts, at = [], 0
    for start, end in highlights:
        parts += [_show(snippet[at:start]), "<mark>", _show(snippet[start:end]), "</mark>"]
        at = end
    return mark_safe("".join((*parts, _show(snippet[at:]))))  # noqa: S308 - each part is escaped


def _show(text: str) -> str:
    return escape(_BLANK_LINES.sub("", text))


def _language(hit: SearchHit) -> str:
    return gettext("in %(language)s") % {"language": language_name(hit.lang)} if hit.other_language else ""


def subheadings(headings: tuple[str, ...], title: str) -> tuple[str, ...]:
    """Return the headings of a passage without the document's title."""
    return headings[1:] if headings[:1] == (title,) else headings


def _address(
    access: Access, hit: SearchHit, passage: SearchHit | HitSection, search_input: SearchInput
) -> str:
    """Return the address of the document's page at the passage, with the way back to the search."""
    doc_id, way_back = uuid.UUID(hex=hit.doc_id), search_input.return_query
    return place_path(access.workspace, doc_id, passage.citation, passage.chunk_id, query=way_back)


def _votes(access: Access, hit: SearchHit, given: bool | None) -> list[dict[str, Any]]:
    page = reverse("search-vote", args=[access.workspace.slug])
    version = {"version": hit.version} if hit.version else {}
    named = {"source": hit.source, **version, "citation": hit.citation.uri, "rank": hit.rank}
    return [
        {
            "value": value,
            "label": label,
            "icon": icon,
            "address": f"{page}?{urlencode(named | {'is_relevant': value})}",
            "is_given": given is (value == "yes"),
        }
        for value, label, icon in (
            ("yes", _("Helpful"), "thumbs-up"),
            ("no", _("Not helpful"), "thumbs-down"),
        )
    ]


def _reason(retrieval: RetrievalDetail) -> str:
    reasons = [
        (retrieval.exact_rank is not None, _("Has the name as you typed it")),
        (retrieval.tier == "all", _("Has all words")),
        (retrieval.tier is not None and retrieval.tier != "all", _("Has some of the words")),
        (retrieval.vector_rank is not None, _("Close in meaning")),
    ]
    return " · ".join(str(text) for holds, text in reasons if holds)


def _leg_bars(retrieval: RetrievalDetail) -> list[dict[str, Any]]:
    bars = {
        Mode.LEXICAL: _leg_bar("lexical", retrieval.lexical_rank, retrieval.lexical_score),
        Mode.VECTOR: _leg_bar("vector", retrieval.vector_rank, retrieval.vector_score),
    }
    found = list(bars.values()) if retrieval.method is Mode.HYBRID else [bars[retrieval.method]]
    if retrieval.exact_rank is not None:
        found.append(_leg_bar("exact", retrieval.exact_rank, None))
    if retrieval.method is Mode.HYBRID:
        found.append(_leg_bar("fused", None, retrieval.fusion_score))
    if retrieval.rerank_score is not None:
        found.append(_leg_bar("reranked", retrieval.rerank_rank, retrieval.rerank_score))
    return found


def _leg_bar(name: str, rank: int | None, score: float | None) -> dict[str, Any]:
    is_absent = rank is None and name != "fused"
    absent = pgettext("match", "no") if is_absent else ""
    return {
        "meaning": _MEANINGS[name],
        "found": absent if rank is None else gettext("place %(rank)s") % {"rank": rank},
        "percent": "" if score is None else str(round(score * 100)),
        "is_absent": is_absent,
    }
