"""Rate limits of pages, the admin and anonymous callers; `ApiView.initial` counts the API's known callers."""

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import Resolver404, resolve

from kebab.errors import Problem, RateLimited, TooLarge
from kebab.http.admission.request_bodies import parse_content_length
from kebab.http.api.problems import problem_of, respond_to_error
from kebab.http.rate_limits.client_address import client_network
from kebab.http.rate_limits.rules import count_request, is_counted
from kebab.middleware import Middleware
from kebab.observability.metrics.refusals import count_problem

#: The most bytes of a form of a page or of the admin, unless its view has `limits_body`.
FORM_LIMIT_BYTES = 1_000_000
# Probes must always be answered; static files are served by an earlier middleware.
_UNCOUNTED = ("/static/", "/healthz", "/readyz", "/metrics", "/version")
# The OpenAPI document and its page are outside `/api/v1/`, so this middleware counts them.
_API, _COUNTING_API = "/api/", "/api/v1/"


class LimitPages(Middleware):
    """Middleware that limits requests; it must come after the one that authenticates the user."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request, or refuse it for a rate or size limit."""
        if request.path.startswith(_UNCOUNTED):
            return self._get_response(request)
        try:
            _check_size(request)
            if not _is_known_to_api(request):
                _count(request)
            response = self._get_response(request)
            if not is_counted(request):  # no view of the API, or it failed before it authenticated the caller
                _count(request)
        except (RateLimited, TooLarge) as error:
            return _refusal(request, error)
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Return the error page for a rate limit that a view has hit; None for any other error."""
        return refusal_page(request, error) if isinstance(error, RateLimited) else None


def refusal_page(request: HttpRequest, error: Exception) -> HttpResponse:
    """Return the error page of a limit, with its status and `Retry-After`."""
    problem = problem_of(error) or Problem(status=500, code="internal_error")
    count_problem(problem.status, problem.code)
    page = render(request, "problem.html", {"problem": problem}, status=problem.status)
    for name, value in problem.headers.items():
        page[name] = value
    return page


def _refusal(request: HttpRequest, error: Exception) -> HttpResponse:
    is_api = request.path.startswith(_API)
    return respond_to_error(error, {"request": request}) if is_api else refusal_page(request, error)


def _check_size(request: HttpRequest) -> None:
    if request.path.startswith(_API) or _body_bytes(request) <= FORM_LIMIT_BYTES:
        return
    if not _has_own_limit(request.path_info):
        raise TooLarge(f"A form may have at most {FORM_LIMIT_BYTES} bytes.")


def _has_own_limit(path: str) -> bool:
    """Return whether the page limits its body itself, after authentication: see `Page.limits_body`."""
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
    """Return whether the API counts the request, under a token, valid or not, or under a person."""
    if not request.path.startswith(_COUNTING_API):
        return False
    scheme, _, _ = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    return scheme.lower() == "bearer" or request.user.is_authenticated


def _body_bytes(request: HttpRequest) -> int:
    """Return the bytes of the body as Django will read it: 0 without a length."""
    return parse_content_length(request.META.get("CONTENT_LENGTH", "")) or 0
