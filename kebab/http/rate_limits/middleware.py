"""The limits of pages, the admin and strangers; the API counts those it knows in `ApiView.initial`."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import Resolver404, resolve

from kebab.http.api.errors import Problem, RateLimited, TooLarge
from kebab.http.api.problems import answer, problem_of
from kebab.http.content_length import stated_bytes
from kebab.http.rate_limits.client_address import client_network
from kebab.http.rate_limits.rules import count_request, is_counted
from kebab.observability.metrics.refusals import count_problem

#: The most bytes that a form of a page or of the admin may have, unless its view has `limits_body`.
FORM_LIMIT_BYTES = 1_000_000
# Probes must be answered whatever happens; files are served before.
_UNCOUNTED = ("/static/", "/healthz", "/readyz", "/metrics", "/version")
# The OpenAPI document and its page, which lie beside it, have nobody else who counts them.
_API, _COUNTING_API = "/api/", "/api/v1/"


class LimitPages:
    """Middleware; it must stand behind the one that finds out who has signed in."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer, unless the caller asks too often or sends too much."""
        if request.path.startswith(_UNCOUNTED):
            return self._get_response(request)
        try:
            _check_size(request)
            if not _is_known_to_api(request):
                _count(request)
            response = self._get_response(request)
            if not is_counted(request):  # no view of the API, or refused before it knew the caller
                _count(request)
        except (RateLimited, TooLarge) as error:
            return _refusal(request, error)
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Return the page for a limit that a view has met."""
        return refusal_page(request, error) if isinstance(error, RateLimited) else None


def refusal_page(request: HttpRequest, error: Exception) -> HttpResponse:
    """Return the page that tells of a limit, with its status and `Retry-After`."""
    problem = problem_of(error) or Problem(status=500, code="internal_error")
    count_problem(problem.status, problem.code)
    page = render(request, "problem.html", {"problem": problem}, status=problem.status)
    for name, value in problem.headers.items():
        page[name] = value
    return page


def _refusal(request: HttpRequest, error: Exception) -> HttpResponse:
    is_api = request.path.startswith(_API)
    return answer(error, {"request": request}) if is_api else refusal_page(request, error)


def _check_size(request: HttpRequest) -> None:
    if request.path.startswith(_API) or _length(request) <= FORM_LIMIT_BYTES:
        return
    if not _has_own_limit(request.path_info):
        raise TooLarge(f"A form may have at most {FORM_LIMIT_BYTES} bytes.")


def _has_own_limit(path: str) -> bool:
    """Return whether the page there limits what it is sent, once it knows by whom: see `Page.limits_body`."""
    try:
        view = resolve(path).func
    except Resolver404:
        return False
    return getattr(getattr(view, "view_class", None), "limits_body", False)


def _count(request: HttpRequest) -> None:
    user = request.user
    name = f"user:{user.pk}" if user.is_authenticated else f"address:{client_network(request)}"
    count_request(request, name)


def _is_known_to_api(request: HttpRequest) -> bool:
    """Return whether the API is to count the request under a token, good or bad, or under a person."""
    if not request.path.startswith(_COUNTING_API):
        return False
    scheme, _, _ = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    return scheme.lower() == "bearer" or request.user.is_authenticated


def _length(request: HttpRequest) -> int:
    """Return the bytes of the body, as Django goes on to read it: without a length there is none."""
    return stated_bytes(request.META.get("CONTENT_LENGTH", "")) or 0
