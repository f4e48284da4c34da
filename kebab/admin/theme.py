"""The theme of the admin: settings of django-unfold."""

from typing import Any, Final

from django.templatetags.static import static

UNFOLD: Final[dict[str, Any]] = {
    "SITE_TITLE": "Kebab",
    "SITE_HEADER": "Kebab",
    "SITE_SYMBOL": "kebab_dining",
    "SHOW_HISTORY": False,
    "SHOW_VIEW_ON_SITE": False,
    "STYLES": [lambda request: static("operating/admin.css")],
    "SCRIPTS": [lambda request: static("operating/admin.js")],
    "SIDEBAR": {"show_search": True},
}
