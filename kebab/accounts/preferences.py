"""Language and time zone of pages: those of the profile, else of the browser."""

from typing import Final
from zoneinfo import ZoneInfo

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone, translation

from kebab.accounts.forms import TIME_ZONES
from kebab.middleware import Middleware

#: The cookie in which a script of the pages names the browser's time zone.
ZONE_COOKIE: Final = "kebab_zone"
# Answers for programs, which are in English.
_PROGRAMS: Final = ("/api/v1/", "/api/schema/")


class ApplyPreferences(Middleware):
    """Activates the language and the time zone of whoever requests a page."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Process the request in the reader's language and time zone."""
        if request.path_info.startswith(_PROGRAMS):
            return self._get_response(request)
        with translation.override(_language(request)), timezone.override(_zone(request)):
            response = self._get_response(request)
            response.headers.setdefault("Content-Language", translation.get_language())
            return response


def _language(request: HttpRequest) -> str:
    chosen = getattr(request.user, "language", "")
    known = dict(settings.LANGUAGES)
    return chosen if chosen in known else translation.get_language_from_request(request)


def _zone(request: HttpRequest) -> ZoneInfo:
    for name in (getattr(request.user, "time_zone", ""), request.COOKIES.get(ZONE_COOKIE, "")):
        if name in TIME_ZONES:
            return ZoneInfo(name)
    return ZoneInfo(settings.TIME_ZONE)
