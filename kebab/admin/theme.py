"""The theme of the admin: settings of django-unfold."""

from typing import Any, Final

from django.templatetags.static import static
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _

UNFOLD: Final[dict[str, Any]] = {
    "SITE_TITLE": "Kebab",
    "SITE_HEADER": "Kebab",
    "SITE_SYMBOL": "kebab_dining",
    "SHOW_HISTORY": False,
    "SHOW_VIEW_ON_SITE": False,
    "STYLES": [lambda request: static("operating/admin.css")],
    "SCRIPTS": [lambda request: static("operating/admin.js")],
    "SIDEBAR": {"show_search": True},
    "SITE_DROPDOWN": [
        {"icon": "arrow_back", "title": _("Back to Kebab"), "link": "/"},
        {"icon": "api", "title": _("API documentation"), "link": reverse_lazy("docs")},
    ],
}
