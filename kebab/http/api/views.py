"""Base classes of all API views, and pages of their lists: a view scopes, parses, calls and serialises."""

import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

from django.core import signing
from django.core.exceptions import ImproperlyConfigured
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from rest_framework import serializers
from rest_framework.exceptions import NotAuthenticated
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView

from kebab.errors import InvalidCursor, LengthRequired
from kebab.http.api.openapi_schema import KebabSchema
from kebab.http.api.serializers import StrictSerializer, strict_body, strict_query
from kebab.http.rate_limits.rules import count_request, rate_limit_headers
from kebab.identity.caller import Access, Caller, Need, access_of_request, caller_of
from kebab.identity.models import Workspace
from kebab.tenancy.current_workspace import acting_in

if TYPE_CHECKING:
    from rest_framework.views import AsView, GenericView


_METHODS = ("get", "post", "put", "patch", "delete")  # OPTIONS is answered by AllowOrigins


class SingleFormatNegotiation(BaseContentNegotiation):
    """Content negotiation that ignores `Accept`, as each view has a single format."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        """Return the parser for the body's content type; None leads to a 415."""
        content_type = (request.content_type or "").partition(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == content_type), None)

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """Return the first renderer."""
        renderer = next(iter(renderers))
        return renderer, renderer.media_type


class ApiView(APIView):
    """A view of the API. `self.caller` and `self.query` (the parameters) are set before a method runs."""

    content_negotiation_class = SingleFormatNegotiation
    format_kwarg = None
    http_method_names = [*_METHODS, "head"]
    schema = KebabSchema()
    #: The most bytes a JSON body may have.
    body_limit_bytes: ClassVar[int] = 1_000_000
    #: The query parameters of each method; a method without an entry takes none.
    queries: ClassVar[Mapping[str, type[StrictSerializer]]] = {}
    #: The methods that read their body; other methods require an empty body or an object without fields,
    #: except GET, whose body has no meaning (RFC 9110, 9.3.1).
    with_body: ClassVar[Collection[str]] = ("POST", "PUT", "PATCH")

    caller: Caller
    query: dict[str, Any]
    #: Holds the current workspace until the view has answered.
    acting: ExitStack

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Answer the request. Until the view enters a workspace, there is no current one."""
        with ExitStack() as self.acting:
            return super().dispatch(request, *args, **kwargs)

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        """Return REST framework's request, which would look its method and headers up each time."""
        created = super().initialize_request(request, *args, **kwargs)
        created.method, created.META = request.method, request.META
        return created

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Authenticate the caller, check their rights and read the parameters, in this order.

        Raises LengthRequired for a chunked body, which Django would take for an empty one, RateLimited, and
        the errors of `strict_body` for fields in a body that the method doesn't read.
        """
        caller = caller_of(request)
        if caller is None:
            raise NotAuthenticated
        self.caller = caller
        if caller.operator is None:
            count_request(request, caller.identity)
        self.admit(request)
        if "HTTP_TRANSFER_ENCODING" in request.META:
            raise LengthRequired
        if _declared_method(request) not in {"GET", *self.with_body}:
            strict_body(request, StrictSerializer)
        self.query = strict_query(request, self.queries.get(_declared_method(request), StrictSerializer))

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the response with the caller's rate limit, and with the address of a list's next page."""
        response = super().finalize_response(request, response, *args, **kwargs)
        for name, value in rate_limit_headers(request).items():
            response.headers[name] = value
        body = getattr(response, "data", None)
        if request.method == "GET" and isinstance(body, dict) and body.get("next_cursor"):
            response.headers["Link"] = next_link(request, body["next_cursor"])
        return response

    def admit(self, request: Request) -> None:
        """Raise an error if the caller may not do this; here every authenticated caller may."""


class WorkspaceView(ApiView):
    """A view below `/workspaces/{ws}`: `self.access` and `self.workspace` are set before a method runs.

    From then on that workspace is the current one.

    `required` has the `Need` of each method; a view that lacks one can't be put into a URL table.
    """

    required: ClassVar[Mapping[str, Need]] = {}

    access: Access
    workspace: Workspace

    @classmethod
    def as_view(cls, **initkwargs: Any) -> "AsView[GenericView]":
        """Return the view function. Raises ImproperlyConfigured if a method has no `required` entry."""
        undeclared = [name for name in _METHODS if hasattr(cls, name) and name.upper() not in cls.required]
        if undeclared:
            raise ImproperlyConfigured(f"{cls.__name__}.required says nothing about {', '.join(undeclared)}.")
        return super().as_view(**initkwargs)

    def admit(self, request: Request) -> None:
        """Resolve the workspace and check the caller's rights. Raises NotFound, Forbidden."""
        self.access = access_of_request(request, self.kwargs["ws"], self.caller)
        self.workspace = self.access.workspace
        need = self.required.get(_declared_method(request))
        if need is not None:  # None: REST framework answers 405 next
            need.check(self.access)
        self.acting.enter_context(acting_in(self.workspace.pk))

    def serialise(self, serializer: type[BaseSerializer[Any]], row: Any) -> Any:
        """Return the row as the caller may see it; the serializer has the access in its context."""
        return serializer(row, context={"access": self.access}).data


def next_link(request: Request, cursor: str, keep: Collection[str] | None = None) -> str:
    """Return the `Link` header to the next page (RFC 8288); of the parameters, those in `keep` stay."""
    query = request.query_params.copy()
    for name in [name for name in query if keep is not None and name not in keep]:
        del query[name]
    query["cursor"] = cursor
    return f'<{request.build_absolute_uri(request.path)}?{query.urlencode()}>; rel="next"'


def _declared_method(request: Request) -> str:
    return "GET" if request.method == "HEAD" else str(request.method)


DEFAULT_LIMIT = 50
MAX_LIMIT = 200


class PageQuery(StrictSerializer):
    """The query parameters of every list; a list with filters extends it."""

    limit = serializers.IntegerField(min_value=1, max_value=MAX_LIMIT, default=DEFAULT_LIMIT)
    cursor = serializers.CharField(
        required=False, max_length=4_000, help_text="`next_cursor` of the page before"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysetPage:
    """One page of a list in a total order."""

    #: Field names, `-` for descending; the last one is unique, none is null.
    ordering: tuple[str, ...]
    limit: int
    #: The ordering's values in the last row of the previous page.
    after: tuple[Any, ...] | None
    #: Cursors are signed for this list of this workspace and this caller.
    salt: str

    @classmethod
    def from_view(cls, view: ApiView, *, ordering: Sequence[str]) -> "KeysetPage":
        """Return the page requested by a view's `PageQuery`. Raises InvalidCursor."""
        salt = _cursor_salt(view, ordering)
        return cls.after_cursor(
            view.query.get("cursor"), ordering=ordering, limit=view.query["limit"], salt=salt
        )

    @classmethod
    def after_cursor(
        cls, cursor: str | None, *, ordering: Sequence[str], limit: int, salt: str
    ) -> "KeysetPage":
        """Return the page after a cursor signed with `salt`; None: the first page. Raises InvalidCursor."""
        after = None if cursor is None else _unsign_cursor(cursor, salt)
        return cls(ordering=tuple(ordering), limit=limit, after=after, salt=salt)

    def fetch(self, queryset: QuerySet[Any]) -> tuple[list[Any], str | None]:
        """Return the page's rows and the cursor of the next page; None after the last."""
        if self.after is not None:
            queryset = queryset.filter(_rows_after(self.ordering, self.after))
        rows = list(queryset.order_by(*self.ordering)[: self.limit + 1])
        if len(rows) <= self.limit:
            return rows, None
        rows = rows[: self.limit]
        return rows, signing.dumps(self._ordering_values(rows[-1]), salt=self.salt)

    def response(self, queryset: QuerySet[Any], serialise: Callable[[Any], Any]) -> Response:
        """Return the response with the page, each row as `serialise(row)`."""
        rows, next_cursor = self.fetch(queryset)
        return Response({"results": [serialise(row) for row in rows], "next_cursor": next_cursor})

    def _ordering_values(self, row: Model) -> list[Any]:
        return [
            _to_json_value(attrgetter(name.lstrip("-").replace("__", "."))(row)) for name in self.ordering
        ]


def _cursor_salt(view: ApiView, ordering: Sequence[str]) -> str:
    workspace = getattr(view, "workspace", None)
    below = sorted((name, str(value)) for name, value in view.kwargs.items() if name != "ws")
    place = (type(view).__module__, type(view).__qualname__, below, list(ordering))
    return f"kebab.cursor:{place}:{workspace.pk if workspace else ''}:{view.caller.identity}"


def _unsign_cursor(cursor: str, salt: str) -> tuple[Any, ...]:
    try:
        return tuple(signing.loads(cursor, salt=salt))
    except signing.BadSignature as error:
        raise InvalidCursor from error


def _rows_after(ordering: Sequence[str], after: Sequence[Any]) -> Q:
    """Return the filter for rows after `after`: (a > x) or (a = x and b > y) …

    It begins with a >= x so that an index can be used.
    """
    first, first_value = ordering[0], after[0]
    later = Q()
    equal = Q()
    for name, value in zip(ordering, after, strict=True):
        later |= equal & Q(**{_comparison_lookup(name): value})
        equal &= Q(**{name.lstrip("-"): value})
    return Q(**{f"{_comparison_lookup(first)}e": first_value}) & later


def _comparison_lookup(name: str) -> str:
    return f"{name[1:]}__lt" if name.startswith("-") else f"{name}__gt"


def _to_json_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, uuid.UUID) else value
