"""Icons, moments and initials, as all pages show them."""

import re
from datetime import datetime, timedelta
from functools import cache

from django import template
from django.contrib.humanize.templatetags.humanize import naturaltime
from django.template.defaultfilters import date
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.timezone import localtime, now
from django.utils.translation import gettext as _
from lucide.templatetags.lucide import lucide

register = template.Library()

#: Moments further away than this are shown as dates.
RELATIVE_DAYS = 30
_ROOT = re.compile(r"</?svg[^>]*>|\n\s*")
# Weeks, days, hours, minutes.
_UNITS_S = (604_800, 86_400, 3_600, 60)


@register.simple_tag
@cache
def icon(name: str, size: int = 16) -> SafeString:
    """Return an icon of Lucide as inline SVG, which screen readers leave out."""
    return _svg(_shapes(name), size, ' viewBox="0 0 24 24"')


@register.simple_tag
@cache
def symbols(*names: str) -> SafeString:
    """Return the icons that `repeated_icon` of the page refers to."""
    found = (f'<symbol id="icon-{name}" viewBox="0 0 24 24">{_shapes(name)}</symbol>' for name in names)
    return mark_safe(f"<svg hidden>{''.join(found)}</svg>")  # noqa: S308  # made of the library's files


@register.simple_tag
@cache
def repeated_icon(name: str, size: int = 16) -> SafeString:
    """Return an icon that occurs many times on the page, a reference to one of its `symbols`."""
    return _svg(f'<use href="#icon-{name}"/>', size)


def _svg(content: str, size: int, more: str = "") -> SafeString:
    opened = f'<svg class="icon" width="{size}" height="{size}"{more} aria-hidden="true">'
    return mark_safe(f"{opened}{content}</svg>")  # noqa: S308  # made of the library's files


def _shapes(name: str) -> str:
    """Return what is inside of Lucide's SVG; base.css has the attributes of its root."""
    return _ROOT.sub("", lucide(str(name))).replace("\n", "")


@register.filter
def moment(value: datetime | None) -> str:
    """Return a `time` element: "3 days ago" or a date, and as its title the time in the reader's zone."""
    if value is None:
        return "–"
    exact = date(localtime(value), "SHORT_DATETIME_FORMAT")
    return format_html('<time datetime="{}" title="{}">{}</time>', value.isoformat(), exact, relative(value))


def relative(value: datetime) -> str:
    """Return how long ago `value` is, in its largest unit, or its date if that is long ago or to come."""
    age_s = (now() - value).total_seconds()
    if not 0 <= age_s < RELATIVE_DAYS * 86_400:
        return date(localtime(value), "DATE_FORMAT")
    unit = next((each for each in _UNITS_S if age_s >= each), None)
    return _("just now") if unit is None else naturaltime(now() - timedelta(seconds=age_s - age_s % unit))


@register.filter
def initials(name: str) -> str:
    """Return up to two letters that stand for a person's name or address."""
    words = name.partition("@")[0].replace(".", " ").replace("-", " ").split()
    return "".join(word[0] for word in words[:2]).upper() or "?"
