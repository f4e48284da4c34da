"""The public address of the site, which links in e-mails begin with."""

from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest

_USUAL_PORTS: Final = {"http": 80, "https": 443}


def site_address(request: HttpRequest) -> str:
    """Return the site's address without a trailing slash: `KEBAB_URL`, else the request's scheme and host.

    Raises DisallowedHost for a port that the site isn't known to have: `ALLOWED_HOSTS` checks names alone,
    and a link with a secret would lead to whatever listens there.
    """
    if settings.KEBAB_URL:
        return str(settings.KEBAB_URL)
    port = urlsplit(f"//{request.get_host()}").port
    known = {None, _USUAL_PORTS[request.scheme or "http"], int(request.META.get("SERVER_PORT") or 0)}
    if port not in known:
        raise DisallowedHost(f"No link leads to port {port}; if people find Kebab there, set KEBAB_URL.")
    return request.build_absolute_uri("/").rstrip("/")
