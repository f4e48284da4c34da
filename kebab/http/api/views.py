"""The bases of all API views: a view scopes and parses, calls, serialises, and does nothing else."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, ClassVar

from django.core.exceptions import ImproperlyConfigured
from rest_framework.exceptions import NotAuthenticated
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from kebab.http.api.errors import LengthRequired
from kebab.http.api.openapi_schema import KebabSchema
from kebab.http.api.permissions import Need
from kebab.http.api.serializers import StrictSerializer, strict_body, strict_query
from kebab.http.rate_limits.rules import count_request
from kebab.people.access.caller import Access, Caller, access_of, caller_of
from kebab.people.models import Workspace
from kebab.tenancy.current_workspace import acting_in

_METHODS = ("get", "post", "put", "patch", "delete")  # nobody needs OPTIONS: one origin serves all


class OnlyFormat(BaseContentNegotiation):
    """Answers in the view's one format whatever `Accept` says, as there is no other to choose."""

    def select_parser(self, request: Request, parsers: Sequence[Any]) -> Any:
        """Return the parser for the body's content type; None leads to a 415."""
        content_type = (request.content_type or "").partition(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == content_type), None)

    def select_renderer(
        self, request: Request, renderers: Sequence[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """Return the first renderer."""
        return renderers[0], renderers[0].media_type


class ApiView(APIView):
    """A view of the API. Before a method runs, `self.caller` is who calls and `self.query` the parameters."""

    content_negotiation_class = OnlyFormat
    http_method_names = [*_METHODS, "head"]
    schema = KebabSchema()
    #: The most bytes a JSON body may have.
    body_limit_bytes: ClassVar[int] = 1_000_000
    #: The query parameters of each method; a method that isn't here takes none.
    queries: ClassVar[Mapping[str, type[StrictSerializer]]] = {}
    #: The methods that read their body; of others it must be empty, or an object without fields. A GET's body
    #: has no meaning (RFC 9110, 9.3.1), whatever it is.
    with_body: ClassVar[Collection[str]] = ("POST", "PUT", "PATCH")

    caller: Caller
    query: dict[str, Any]
    #: Where the view acts, until it has answered.
    acting: ExitStack

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Answer. A view acts where its request does, nowhere, until it enters a workspace."""
        with ExitStack() as self.acting:
            return super().dispatch(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Find out who calls, whether they may, and read the parameters, in this order.

        Raises LengthRequired for a body in chunks, which would be taken for an empty one, RateLimited, and
        what `strict_body` raises for fields in a body that nobody reads.
        """
        super().initial(request, *args, **kwargs)
        caller = caller_of(request)
        if caller is None:
            raise NotAuthenticated
        self.caller = caller
        count_request(request, caller.identity)
        self.admit(request)
        if "HTTP_TRANSFER_ENCODING" in request.META:
            raise LengthRequired
        if _declared(request) not in {"GET", *self.with_body}:
            strict_body(request, StrictSerializer)
        self.query = strict_query(request, self.queries.get(_declared(request), StrictSerializer))

    def admit(self, request: Request) -> None:
        """Raise what a caller is told who may not do this; here everyone may who has signed in."""


class WorkspaceView(ApiView):
    """A view below `/workspaces/{ws}`: `self.access` and `self.workspace` are set before a method runs.

    From then on it acts in that workspace.

    `required` says for each method what it takes; a view that forgets one can't be put into a URL table.
    """

    required: ClassVar[Mapping[str, Need]] = {}

    access: Access
    workspace: Workspace

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Callable[..., Any]:
        """Return the view function. Raises ImproperlyConfigured if a method has no `required` entry."""
        undeclared = [name for name in _METHODS if hasattr(cls, name) and name.upper() not in cls.required]
        if undeclared:
            raise ImproperlyConfigured(f"{cls.__name__}.required says nothing about {', '.join(undeclared)}.")
        return super().as_view(**initkwargs)

    def admit(self, request: Request) -> None:
        """Resolve the workspace and check the caller's rights. Raises NotFound, Forbidden."""
        self.access = access_of(request, self.kwargs["ws"])
        self.workspace = self.access.workspace
        need = self.required.get(_declared(request))
        if need is not None:  # None: there is no such method here, which REST framework answers next
            need.check(self.access)
        self.acting.enter_context(acting_in(self.workspace.pk))


def _declared(request: Request) -> str:
    return "GET" if request.method == "HEAD" else str(request.method)
