"""Base classes of pages, their tabs and lists: access is checked, and errors become pages."""

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any, ClassVar, Self

from django.contrib import messages
from django.contrib.auth.mixins import LoginRequiredMixin
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import Resolver404, resolve, reverse
from django.utils.decorators import method_decorator
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views import View
from django.views.decorators.cache import never_cache
from django_htmx.http import HttpResponseClientRefresh
from django_htmx.middleware import HtmxDetails

from kebab.contributions import contributions
from kebab.errors import Problem
from kebab.http.api.problems import problem_of
from kebab.http.api.views import KeysetPage
from kebab.identity.caller import Access, Need, access_of_request
from kebab.identity.models import Membership, Role, TokenScope, Workspace
from kebab.observability.metrics.refusals import count_problem
from kebab.tenancy.current_workspace import acting_everywhere, acting_in


@dataclass(frozen=True, slots=True, kw_only=True)
class Tab:
    """A tab of a workspace; its `route` takes the slug as only argument."""

    label: "str | Promise"
    route: str
    #: The name of its icon in Lucide.
    icon: str
    need: Need
    #: Tabs are sorted by this number; those from MANAGING on are listed apart.
    place: int
    #: Return the number of what needs attention there; 0 for nothing.
    count: "Callable[[Access], int] | None" = None


#: The place of the first tab for those who manage the workspace.
MANAGING = 30


def tabs_of(access: Access, current: str) -> list[dict[str, Any]]:
    """Return the tabs that the caller may open, in order, in groups with a heading, '' for none.

    `current` is the route of the open one.
    """
    allowed = sorted(
        (tab for tab in contributions("tabs") if tab.need.allows(access)), key=lambda tab: tab.place
    )
    label = _("Manage") if TokenScope.INGEST in access.scopes else ""
    return [
        {
            "label": label if manages else "",
            "tabs": [
                {
                    "label": tab.label,
                    "route": tab.route,
                    "icon": tab.icon,
                    "address": reverse(tab.route, args=[access.workspace.slug]),
                    "is_current": tab.route == current,
                    "badge": tab.count(access) if tab.count else 0,
                }
                for tab in tabs
            ],
        }
        for manages, tabs in groupby(allowed, key=lambda tab: tab.place >= MANAGING)
    ]


logger = logging.getLogger(__name__)

# Workspaces in the menu that switches between them.
_NEIGHBOURS = 12


class HtmxHttpRequest(HttpRequest):
    """A request after the middleware of htmx."""

    htmx: HtmxDetails


@method_decorator(never_cache, name="dispatch")  # after logging out, the Back button must not show them
class Page(LoginRequiredMixin, View):
    """A page for a logged-in user; others are sent to log in, whether or not the URL exists."""

    http_method_names: Sequence[str] = ("get", "head")
    #: Whether the page accepts bodies larger than a form's, and limits them itself before reading.
    limits_body: ClassVar[bool] = False
    #: The method in whose place `of` puts a function.
    handler: ClassVar[str] = "get"
    request: HtmxHttpRequest
    #: Contexts that last until the response is created, such as the current workspace.
    context_stack: ExitStack

    @classmethod
    def of(cls, **attributes: Any) -> "Callable[[Callable[..., HttpResponseBase]], type[Self]]":
        """Return a decorator that makes a view of a function of the page and the arguments of its address."""

        def make_view(answer: Callable[..., HttpResponseBase]) -> type[Self]:
            own = {
                cls.handler: lambda self, *_, **kwargs: answer(self, **kwargs),
                "__doc__": answer.__doc__,
                "__module__": answer.__module__,
            }
            return type(answer.__name__, (cls,), own | attributes)

        return make_view

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Dispatch the request. Known errors become error pages; the rest is left to Django."""
        with ExitStack() as self.context_stack:
            return self._dispatch(request, *args, **kwargs)

    def handle_no_permission(self) -> HttpResponse:  # type: ignore[override]  # the base promises a redirect
        """Redirect an anonymous user to log in; an htmx request gets a reload of the whole page."""
        return HttpResponseClientRefresh() if self.request.htmx else super().handle_no_permission()

    def http_method_not_allowed(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Redirect a GET of a POST-only URL, as after logging in again, to the page it belongs to."""
        if request.method not in ("GET", "HEAD"):
            return super().http_method_not_allowed(request, *args, **kwargs)
        query = request.META["QUERY_STRING"]
        return redirect(_page_above(request.path) + (f"?{query}" if query else ""))

    def _dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return super().dispatch(request, *args, **kwargs)
        except Exception as error:
            problem = problem_of(error)
            if problem is None:
                raise
            if problem.status == 404:
                raise Http404 from error
            if problem.status >= 500:
                logger.warning("%s answered %s: %r", type(self).__name__, problem.code, error)
            return self.render_problem(request, problem)

    def render_problem(self, request: HttpRequest, problem: Problem) -> HttpResponse:
        """Render the error page of `problem`."""
        return apply_problem(render(request, "problem.html", {"problem": problem}), problem)


class PostPage(Page):
    """An action without a page of its own: forms on other pages post to it."""

    http_method_names = ("post",)
    handler: ClassVar[str] = "post"


class WorkspacePage(Page):
    """A page of one workspace; users who are no members get the same 404 as for a missing one."""

    handler: ClassVar[str] = "show"
    #: The rights needed to see the page.
    need: ClassVar[Need] = Need(role=Role.VIEWER, scope="any")
    #: The route of the page's tab; '' for none.
    tab: ClassVar[str] = ""
    #: The name that cursors of its list are bound to; '' for the class name.
    list_name: ClassVar[str] = ""
    #: None until the user's membership is checked.
    workspace: Workspace | None = None
    #: The user's access; set before `show` and `act`.
    access: Access

    def get(self, request: HtmxHttpRequest, slug: str, **kwargs: Any) -> HttpResponseBase:
        """Check access, then show the page. Raises NotFound, Forbidden."""
        return self.show(request, self._admit(request, slug), **kwargs)

    def show(
        self, request: HtmxHttpRequest, workspace: Workspace, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        """Return the page."""
        raise NotImplementedError

    def render(self, request: HttpRequest, template: str, **context: Any) -> HttpResponse:
        """Render a template with the context of the workspace's frame."""
        frame = {
            "workspace": self.workspace,
            "access": self.access,
            "tabs": partial(tabs_of, self.access, self.tab),
            "neighbours": partial(workspaces_of, request.user),
        }
        return render(request, template, frame | context)

    def render_problem(self, request: HttpRequest, problem: Problem) -> HttpResponse:
        """Render the error page of `problem`, in the workspace's frame once membership is checked."""
        if self.workspace is None:
            return super().render_problem(request, problem)
        page = self.render(request, "pages/problem.html", problem=problem, **self._find_help(problem))
        return apply_problem(page, problem)

    def _find_help(self, problem: Problem) -> dict[str, Any]:
        """Return the role that the page requires and names of owners, if the person has a lower one."""
        role = self.access.role
        if problem.status != 403 or role is None or role.level >= self.need.role.level:
            return {}
        owners = Membership.objects.filter(workspace=self.workspace, role=Role.OWNER, user__is_active=True)
        named = [str(row.user.display_name or row.user.email) for row in owners.select_related("user")[:3]]
        return {"missing_role": self.need.role, "owners": named}

    def _admit(self, request: HttpRequest, slug: str) -> Workspace:
        access = access_of_request(request, slug)
        self.context_stack.enter_context(acting_in(access.workspace.pk))
        self.access, self.workspace = access, access.workspace
        self.need.check(access)
        return access.workspace


class ActionPage(WorkspacePage):
    """A page with forms: a POST is handled by `act`, and answered with a redirect or the page again."""

    http_method_names: Sequence[str] = ("get", "head", "post")

    def post(self, request: HtmxHttpRequest, slug: str, **kwargs: Any) -> HttpResponseBase:
        """Check access, then handle the posted form. Raises NotFound, Forbidden."""
        return self.act(request, self._admit(request, slug), **kwargs)

    def act(
        self, request: HtmxHttpRequest, workspace: Workspace, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        """Handle the posted form, and return a redirect or the page."""
        raise NotImplementedError


class PostAction(ActionPage):
    """An action in a workspace without a page of its own: forms on other pages post to it."""

    http_method_names = ("post",)
    handler: ClassVar[str] = "act"

    def finish(self, message: Any, route: str, *args: Any) -> HttpResponse:
        """Redirect to a page of the workspace, which says that the action is done."""
        messages.success(self.request, message)
        return redirect(route, self.access.workspace.slug, *args)


def workspaces_of(user: Any) -> list[Workspace]:
    """Return the workspaces to switch to, in order of their names; of many the first."""
    with acting_everywhere():
        return list(Workspace.objects.filter(memberships__user=user).order_by("name")[:_NEIGHBOURS])


def _page_above(path: str) -> str:
    """Return the path of the nearest page above `path`."""
    while path := path.rpartition("/")[0]:
        try:
            view: type[Any] = getattr(resolve(path).func, "view_class", object)
        except Resolver404:
            continue
        if issubclass(view, Page) and "get" in view.http_method_names:
            return path
    return "/"


def apply_problem(response: HttpResponse, problem: Problem) -> HttpResponse:
    """Set status and headers of `problem` on `response`, count the problem, and return the response."""
    count_problem(problem.status, problem.code)
    response.status_code = problem.status
    for name, value in problem.headers.items():
        response[name] = value
    return response


ROWS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPage:
    """One page of a list, in its order."""

    rows: Sequence[Any]
    #: The query string of the next page, with the other parameters; None after the last page.
    next_address: str | None


def list_page(
    view: WorkspacePage, request: HttpRequest, queryset: "QuerySet[Any]", *, ordering: Sequence[str]
) -> ListPage:
    """Return the page of the list at the request's `cursor`. Raises InvalidCursor.

    `ordering` must be total, as for `KeysetPage`. A cursor works for its page, order,
    workspace and user only.
    """
    name = view.list_name or type(view).__qualname__
    salt = f"kebab.page:{name}:{','.join(ordering)}:{view.access.workspace.pk}:{view.access.identity}"
    page = KeysetPage.after_cursor(request.GET.get("cursor"), ordering=ordering, limit=ROWS, salt=salt)
    rows, cursor = page.fetch(queryset)
    return ListPage(rows=rows, next_address=None if cursor is None else _with_cursor(request, cursor))


def _with_cursor(request: HttpRequest, cursor: str) -> str:
    parameters = request.GET.copy()
    parameters["cursor"] = cursor
    return f"?{parameters.urlencode()}"
