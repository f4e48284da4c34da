"""Redirect targets after signing in."""

from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme


def safe_next_url(request: HttpRequest) -> str:
    """Return the parameter `next` if it is a URL of this site; else an empty string."""
    place = request.POST.get("next", request.GET.get("next", ""))
    hosts = {request.get_host()}
    return place if url_has_allowed_host_and_scheme(place, hosts, require_https=request.is_secure()) else ""
