"""Where people are sent after they have signed in."""

from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme


def next_place(request: HttpRequest) -> str:
    """Return the parameter `next` when it is a place on this site; else nothing."""
    place = request.POST.get("next", request.GET.get("next", ""))
    hosts = {request.get_host()}
    return place if url_has_allowed_host_and_scheme(place, hosts, require_https=request.is_secure()) else ""
