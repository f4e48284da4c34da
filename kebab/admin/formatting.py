"""Formatting of values on the admin's pages. All text is escaped here or by the template."""

import json
from typing import Any

from django.db import models
from django.template.defaultfilters import filesizeformat
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

#: Shown for a missing value.
NONE = "–"
#: The most rows of a table on a row's page.
MOST_ROWS = 100


def link(row: models.Model | None, text: str = "") -> SafeString | str:
    """Return a link to the row's page."""
    if row is None:
        return NONE
    name = f"admin:{row._meta.app_label}_{row._meta.model_name}_change"
    try:
        address = reverse(name, args=(row.pk,))
    except NoReverseMatch:  # a model that has no pages
        return text or str(row)
    return anchor(address, text or str(row))


def anchor(address: str, text: str) -> SafeString:
    """Return an HTML link."""
    return format_html('<a class="operating-link" href="{}">{}</a>', address, text)


def truncate(text: str, most_chars: int = 80) -> str:
    """Return the start of a text as one line."""
    line = " ".join(text[: most_chars * 4].split())
    return line if len(line) <= most_chars else f"{line[: most_chars - 1]}…"


def preformatted(text: str) -> SafeString | str:
    """Return a text as HTML with its line breaks."""
    return format_html('<pre class="operating-text">{}</pre>', text) if text else NONE


def as_json(value: Any) -> SafeString | str:
    """Return a value as readable JSON."""
    return preformatted(json.dumps(value, ensure_ascii=False, indent=2, default=str)) if value else NONE


def size(n_bytes: int) -> str:
    """Return a human-readable size."""
    return str(filesizeformat(n_bytes))


def progress(done: int, total: int) -> SafeString | str:
    """Return a progress bar with its figures; a total of 0 means unknown."""
    if not total:
        return f"{done:,}" if done else NONE
    return format_html(
        '<span class="operating-progress"><progress max="{}" value="{}"></progress> {} / {}</span>',
        total,
        min(done, total),
        f"{done:,}",
        f"{total:,}",
    )


def groups(named_by: models.QuerySet[Any], none: str = NONE) -> SafeString | str:
    """Return a table of the first groups of rows with a `group`; `none` if there are none."""
    first = named_by.select_related("group").order_by("pk")[:MOST_ROWS]
    return rows([(link(row.group),) for row in first], "Group") if first else none


def rows(cells: list[tuple[Any, ...]], *headings: str) -> SafeString | str:
    """Return an HTML table."""
    if not cells:
        return NONE
    head = format_html_join("", "<th>{}</th>", ((heading,) for heading in headings))
    body = format_html_join("", "<tr>{}</tr>", ((_cells(row),) for row in cells))
    return format_html(
        '<div class="operating-scroll"><table class="operating-table"><thead><tr>{}</tr></thead>'
        "<tbody>{}</tbody></table></div>",
        head,
        body,
    )


def _cells(row: tuple[Any, ...]) -> SafeString:
    return format_html_join("", "<td>{}</td>", ((cell,) for cell in row))
