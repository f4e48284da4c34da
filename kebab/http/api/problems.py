"""Conversion of any exception to a `Problem`, and of that to `application/problem+json` (RFC 9457)."""

import logging
import sys
import uuid
from collections.abc import Iterator, Mapping
from itertools import islice
from math import ceil
from typing import Any

from django.core.exceptions import (
    ObjectDoesNotExist,
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
)
from django.db import DataError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, UnreadablePostError
from django.template.loader import render_to_string
from rest_framework import exceptions as drf
from rest_framework.views import set_rollback

from kebab.errors import FieldError, NotFound, Problem, known_errors
from kebab.http.api.outages import outage_of
from kebab.observability.metrics.refusals import count_problem

CONTENT_TYPE = "application/problem+json"
# A refusal must not echo a megabyte of input.
_MAX_ERRORS = 20
_MAX_CHARS = 1_000
# All errors of a problem share it.
_MAX_ERROR_CHARS = 4_000
# `Retry-After` of a 503 whose end nobody can predict, because an operator has to act first.
_DEFAULT_RETRY_AFTER_S = 60

logger = logging.getLogger(__name__)


def problem_of(error: BaseException) -> Problem | None:
    """Return the problem to report for `error`; None when it is unexpected, so a defect of Kebab."""
    if isinstance(error, known_errors()):
        return _from_known_error(error)
    if isinstance(error, drf.APIException):
        return _from_rest_framework(error)
    outage = outage_of(error)
    return _from_known_error(outage) if outage is not None else _from_django(error)


def respond_to_error(error: Exception, context: Mapping[str, Any]) -> HttpResponse:
    """Return the response to any `error`. An unexpected one is logged with the `instance` the caller sees."""
    set_rollback()
    return respond(log_problem(error, _describe_request(context)))


def log_problem(error: Exception, place: str) -> Problem:
    """Return the problem to report for any `error`, and log server errors with the place they occurred in."""
    problem = problem_of(error)
    if problem is None:
        problem = _internal_error()
        logger.error("%s: %r in %s", problem.instance, error, place, exc_info=error)
    elif problem.status >= 500:
        logger.warning("%s answered %s: %r", place, problem.code, error)
    return problem


def respond(problem: Problem) -> HttpResponse:
    """Return `problem` as an HTTP response, and count it."""
    count_problem(problem.status, problem.code)
    return JsonResponse(
        problem_document(problem),
        status=problem.status,
        content_type=CONTENT_TYPE,
        headers=dict(problem.headers),
    )


def summarize_problem(problem: Problem) -> str:
    """Return `problem` as one short text, for formats of errors that have no more."""
    errors = problem.errors[:_MAX_ERRORS]
    return _shorten(" ".join(f"{each.field}: {each.message}" for each in errors)) or _shorten(
        problem.detail or problem.title
    )


def problem_document(problem: Problem) -> dict[str, Any]:
    """Return `problem` as a `problem.v1` without empty fields; long texts and many errors are cut."""
    errors = problem.errors[:_MAX_ERRORS]
    most_chars = min(_MAX_CHARS, _MAX_ERROR_CHARS // max(1, len(errors)))
    body: dict[str, Any] = {
        "type": f"/problems/{problem.code}",
        "title": problem.title,
        "status": problem.status,
        "detail": _shorten(problem.detail),
        "code": problem.code,
        "instance": problem.instance,
        "errors": [
            {"field": _shorten(error.field, most_chars), "message": _shorten(error.message, most_chars)}
            for error in errors
        ],
    }
    return {name: value for name, value in body.items() if value not in ("", [])}


def _shorten(text: str, most_chars: int = _MAX_CHARS) -> str:
    return text if len(text) <= most_chars else f"{text[:most_chars]}…"


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Handle a bad request: Django's handler400."""
    if not _is_api(request):
        return _render_page("400.html", status=400)
    return respond(problem_of(exception) or Problem(status=400, code="invalid_request"))


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Handle a denied permission: Django's handler403."""
    if not _is_api(request):
        return _render_page("403.html", request, status=403)
    return respond(problem_of(exception) or Problem(status=403, code="forbidden"))


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Handle an unknown address: Django's handler404. In the API it looks like a missing resource."""
    if not _is_api(request):
        return _render_page("404.html", request, status=404)
    return respond(_from_known_error(NotFound()))


def server_error(request: HttpRequest) -> HttpResponse:
    """Handle an error outside of a view: Django's handler500. Django has logged the exception itself."""
    error = sys.exception()
    known = problem_of(error) if error is not None else None
    problem = known if known is not None and known.status == 503 else _internal_error()
    if _is_api(request):
        return respond(problem)
    count_problem(problem.status, problem.code)
    return _render_page("500.html", status=problem.status, headers=problem.headers)


def _render_page(
    template: str,
    request: HttpRequest | None = None,
    *,
    status: int,
    headers: Mapping[str, str] | None = None,
) -> HttpResponse:
    """Return an error page; `request` lets it show the language and theme of who asks.

    Django's own handlers check a form's token first, for which they read and parse a body of any size.
    """
    return HttpResponse(render_to_string(template, request=request), status=status, headers=headers)


def _is_api(request: HttpRequest) -> bool:
    return request.path.startswith("/api/")


def _internal_error() -> Problem:
    return Problem(status=500, code="internal_error", instance=uuid.uuid4().urn)


def _describe_request(context: Mapping[str, Any]) -> str:
    view = context.get("view")
    method = getattr(context.get("request"), "method", "")
    return f"{method} {type(view).__name__}"


def _from_known_error(error: Any) -> Problem:
    retry_after_s = getattr(error, "retry_after_s", None)
    if retry_after_s is None and error.status == 503:
        retry_after_s = _DEFAULT_RETRY_AFTER_S
    return Problem(
        status=error.status,
        code=error.code,
        detail=str(error),
        errors=tuple(getattr(error, "errors", ())),
        headers={"Retry-After": str(ceil(retry_after_s))} if retry_after_s is not None else {},
    )


_CODES = {
    drf.ValidationError: "invalid_request",
    drf.ParseError: "invalid_request",
    drf.NotAuthenticated: "not_authenticated",
    drf.AuthenticationFailed: "invalid_credentials",
    drf.PermissionDenied: "forbidden",
    drf.MethodNotAllowed: "method_not_allowed",
    drf.NotAcceptable: "not_acceptable",
    drf.UnsupportedMediaType: "unsupported_media_type",
    drf.Throttled: "throttled",
}


def _from_rest_framework(error: drf.APIException) -> Problem:
    if isinstance(error, drf.NotFound):
        return _from_known_error(NotFound())
    if isinstance(error, drf.ValidationError):
        return _from_validation_error(error)
    headers = {}
    if auth_header := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = auth_header
    if wait_s := getattr(error, "wait", None):
        headers["Retry-After"] = str(int(wait_s))
    own = getattr(error.detail, "code", None)
    code = own if own not in (None, error.default_code) else _CODES.get(type(error), error.default_code)
    return Problem(status=error.status_code, code=code, detail=str(error.detail), headers=headers)


def _from_validation_error(error: drf.ValidationError) -> Problem:
    found = islice(_flatten(error.detail), _MAX_ERRORS)
    unknown = any(detail.code == "unknown_field" for _, detail in _flatten(error.detail))
    errors = tuple(FieldError(field=name, message=str(detail)) for name, detail in found)
    return Problem(
        status=error.status_code,
        code="unknown_field" if unknown else "invalid_request",
        detail=" ".join(
            f"{each.field}: {each.message}" if each.field else each.message for each in errors[:5]
        ),
        errors=errors,
    )


def _flatten(detail: Any, path: str = "") -> Iterator[tuple[str, drf.ErrorDetail]]:
    if isinstance(detail, dict):
        for name, inner in detail.items():
            is_whole = name == "non_field_errors"
            yield from _flatten(inner, path if is_whole else _join_path(path, name))
    elif isinstance(detail, list):
        for position, inner in enumerate(detail):
            is_nested = isinstance(inner, (dict, list))
            yield from _flatten(inner, f"{path}[{position}]" if is_nested else path)
    else:
        yield path, detail


def _join_path(path: str, name: object) -> str:
    if isinstance(name, int):  # the items of a list field are numbered
        return f"{path}[{name}]"
    return f"{path}.{name}" if path else str(name)


def _from_django(error: BaseException) -> Problem | None:
    if isinstance(error, (Http404, ObjectDoesNotExist)):  # or deleted while the request ran
        return _from_known_error(NotFound())
    if isinstance(error, PermissionDenied):
        return Problem(status=403, code="forbidden", detail="You may not do this.")
    if isinstance(error, RequestDataTooBig):
        return Problem(status=413, code="too_large", detail="The request's body is larger than the limit.")
    if isinstance(error, (SuspiciousOperation, UnreadablePostError)):
        return Problem(status=400, code="invalid_request", detail="The request can't be read.")
    if isinstance(error, DataError):
        return Problem(status=400, code="invalid_request", detail="A value is out of range.")
    return None
