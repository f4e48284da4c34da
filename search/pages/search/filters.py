"""View models of the search page's filters: those in use, and the values to choose from."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.conf.locale import LANG_INFO
from django.utils import timezone
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from kebab.identity.models import Workspace
from kebab.identity.reader import Reader
from search.engine.facets import source_titles
from search.pages.search.form import FILTER_LABELS, SearchInput
from search.retrieval.query.filters import MOMENTS
from search.retrieval.types import Facets

_VALUES: Final = {
    ("media", "pdf"): "PDF",
    ("media", "email"): pgettext_lazy("kind of file", "Email"),
    ("media", "text"): _("Text"),
    ("media", "code"): _("Code"),
    ("media", "image"): _("Image"),
    ("media", "transcript"): _("Transcript"),
    ("trust_min", "primary"): _("Primary"),
    ("trust_min", "secondary"): _("Secondary or better"),
    ("trust_min", "generated"): _("Generated or better"),
    ("trust_min", "unknown"): _("Any"),
    ("lang", "und"): _("Unknown"),
}
# This value matches all documents.
_MATCHES_ALL: Final = ("trust_min", "unknown")
_SINCE_DAYS: Final = {1: _("Past day"), 7: _("Past week"), 30: _("Past month"), 365: _("Past year")}


def filters_in_use(workspace: Workspace, reader: Reader, search_input: SearchInput) -> list[dict[str, Any]]:
    """Return the filters in use, each with the query string of the search without it."""
    keys = [value for name, value in search_input.filters if name == "source"]
    titles = source_titles(workspace, reader, keys) if keys else {}
    return [
        {
            "label": gettext("%(filter)s: %(value)s")
            % {"filter": FILTER_LABELS[name], "value": _label(name, value, titles)},
            "address": search_input.without_filter(name, value).address,
        }
        for name, value in search_input.filters
    ]


def moments() -> dict[str, datetime]:
    """Return the moments since which documents are counted, by label: midnights in UTC."""
    today = timezone.now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return {str(label): today - timedelta(days=days) for days, label in _SINCE_DAYS.items()}


def present_filters(
    workspace: Workspace,
    reader: Reader,
    search_input: SearchInput,
    facets: Facets,
    since: Mapping[str, datetime],
) -> list[dict[str, Any]]:
    """Return the filters that offer a choice, with their values and the counts of these.

    The address of a value is the query string that adds or removes it.
    """
    keys = [str(each.value) for each in facets.by_filter["source"]]
    labels = source_titles(workspace, reader, keys) | {at.isoformat(): label for label, at in since.items()}
    found = []
    for name, values in facets.by_filter.items():
        counts = [(str(each.value), each.documents) for each in values]
        shown = [
            {
                "label": _label(name, value, labels),
                "address": _toggle(search_input, name, value).address,
                "is_chosen": (name, value) in search_input.filters,
                "documents": documents,
            }
            for value, documents in counts
            if (name, value) in search_input.filters or (documents and (name, value) != _MATCHES_ALL)
        ]
        if _is_choice(name, shown, facets.total):
            found.append({"name": name, "label": FILTER_LABELS[name], "values": shown})
    return found


def _toggle(search_input: SearchInput, name: str, value: str) -> SearchInput:
    is_chosen = (name, value) in search_input.filters
    return search_input.without_filter(name, value) if is_chosen else search_input.with_filter(name, value)


def _is_choice(name: str, values: Sequence[Mapping[str, Any]], total: int) -> bool:
    """Return whether choosing a value would change anything; not if each value matches all documents."""
    if name in ("tags_any", "author", "version"):
        return bool(values)
    return any(each["is_chosen"] or each["documents"] < total for each in values)


def language_name(lang: str) -> str:
    """Return the name of a language in that of the page; its code if that is unknown."""
    return gettext(LANG_INFO.get(lang, {}).get("name", lang))


def _label(name: str, value: str, labels: Mapping[str, str]) -> str:
    if name in ("source", "ingested_after") and value in labels:
        return labels[value]
    known = _VALUES.get((name, value))
    if known is not None:
        return str(known)
    if name == "lang":
        return language_name(value)
    if name in MOMENTS:
        return value[:10]
    return value.capitalize() if name == "media" else value
