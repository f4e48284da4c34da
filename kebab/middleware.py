"""The base class of middlewares."""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase


class Middleware:
    """Holds what answers a request: the next middleware, or the view."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response
