"""The error tree of the API: one tree and one mapping to statuses for HTTP, MCP and the command line.

ApiError                      status  code
├── InvalidRequest            400     invalid_request
│   ├── InvalidCursor         400     invalid_cursor
│   └── InvalidJSON           400     invalid_json
├── Forbidden                 403     forbidden
├── NotFound                  404     not_found
├── Conflict                  409     conflict
├── LengthRequired            411     length_required
├── TooLarge                  413     too_large
├── Unprocessable             422     unprocessable
├── RateLimited               429     rate_limited
└── ServiceUnavailable        503     service_unavailable

`search` and `ingest` have trees of their own, whose classes carry `status` and `code`; their extensions name
the roots. HTTP and the command line treat them like these.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import ClassVar

from kebab.contributions import contributions


class ApiError(Exception):
    """The root of errors reported to callers. `detail` names the value and the remedy; `code` is stable."""

    status: int = 500
    code: str = "internal_error"
    default_detail: ClassVar[str] = ""

    def __init__(
        self,
        detail: str = "",
        *,
        code: str = "",
        errors: Sequence["FieldError"] = (),
        retry_after_s: int | None = None,
    ) -> None:
        self.detail = detail or self.default_detail
        self.code = code or type(self).code
        self.errors = tuple(errors)
        self.retry_after_s = retry_after_s
        super().__init__(self.detail)


class InvalidRequest(ApiError):
    """The request itself is wrong; sending it again can't help."""

    status = 400
    code = "invalid_request"


class InvalidCursor(InvalidRequest):
    """The cursor wasn't issued for this list and this caller."""

    code = "invalid_cursor"
    default_detail = "This cursor was not given out for this list; start again without one."


class InvalidJSON(InvalidRequest):
    """The body is not strict JSON."""

    code = "invalid_json"


class Forbidden(ApiError):
    """The caller may see the resource, but not do this with it."""

    status = 403
    code = "forbidden"


class NotFound(ApiError):
    """The resource doesn't exist, or the caller may not see it: the two look the same."""

    status = 404
    code = "not_found"
    default_detail = "There is nothing here that you may see."


class Conflict(ApiError):
    """The current state of the resource forbids the request."""

    status = 409
    code = "conflict"


class LengthRequired(ApiError):
    """The body has no length, so none of it is read."""

    status = 411
    code = "length_required"
    default_detail = "Send the body with a Content-Length instead of in chunks."


class TooLarge(ApiError):
    """More bytes, items or levels than the limit, which the detail names."""

    status = 413
    code = "too_large"


class Unprocessable(ApiError):
    """The request is well-formed, but can't be carried out with these values."""

    status = 422
    code = "unprocessable"


class RateLimited(ApiError):
    """Too many requests in too short a time; after `retry_after_s` some are answered again."""

    status = 429
    code = "rate_limited"

    def __init__(self, detail: str = "", *, code: str = "", retry_after_s: int) -> None:
        super().__init__(detail, code=code, retry_after_s=retry_after_s)


class ServiceUnavailable(ApiError):
    """A service that the request needs is unavailable; the same request may succeed later."""

    status = 503
    code = "service_unavailable"

    def __init__(self, detail: str = "", *, code: str = "", retry_after_s: int = 5) -> None:
        super().__init__(detail, code=code, retry_after_s=retry_after_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldError:
    """The error of one field."""

    #: Dotted path, list positions in brackets: `filters.tags_any[0]`; empty for the request as a whole.
    field: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """An error as reported to a caller: RFC 9457 over HTTP, `error.v1` on the command line."""

    status: int
    code: str
    detail: str = ""
    errors: tuple[FieldError, ...] = ()
    #: Identifies this occurrence; the log has the same value.
    instance: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Return the reason phrase of the status."""
        return HTTPStatus(self.status).phrase

    @property
    def may_force(self) -> bool:
        """Return whether it is the objection of a guard, which the same request with `force` overrides."""
        return self.code.startswith("quality_gate")


def known_errors() -> tuple[type[Exception], ...]:
    """Return the roots of all error trees, for an `except` clause."""
    return (ApiError, *contributions("error_trees"))
