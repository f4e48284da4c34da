"""A person is logged in, a member of the workspace, and may do it; what can't be done is told on a page."""

import logging
from contextlib import ExitStack
from typing import Any, ClassVar

from django.contrib.auth.mixins import LoginRequiredMixin
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import Resolver404, resolve
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.cache import never_cache
from django_htmx.http import HttpResponseClientRefresh

from kebab.http.api.errors import Problem
from kebab.http.api.permissions import Need
from kebab.http.api.problems import problem_of
from kebab.observability.metrics.refusals import count_problem
from kebab.pages.tabs import tabs_of
from kebab.people.access.caller import Access, access_of
from kebab.people.models import Role, Workspace
from kebab.tenancy.current_workspace import acting_in

logger = logging.getLogger(__name__)


@method_decorator(never_cache, name="dispatch")  # after logging out, Back must not show them
class Page(LoginRequiredMixin, View):
    """A page for a logged-in person; others are sent to log in, whatever the address."""

    http_method_names = ("get", "head")
    #: Whether it takes more than a form may have, and limits that itself before it reads any.
    limits_body: ClassVar[bool] = False
    #: Where the page acts, until it is made.
    acting: ExitStack

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer. Errors that a caller is told become pages; the rest is Django's to report."""
        with ExitStack() as self.acting:
            return self._answer(request, *args, **kwargs)

    def handle_no_permission(self) -> HttpResponse:
        """Send nobody to log in; a part of a page that asks for itself has the whole page do so."""
        is_part = self.request.htmx  # type: ignore[attr-defined]  # the middleware adds it
        return HttpResponseClientRefresh() if is_part else super().handle_no_permission()

    def http_method_not_allowed(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Lead who only looks at an act's address, as after logging in anew, to the page it belongs to."""
        if request.method not in ("GET", "HEAD"):
            return super().http_method_not_allowed(request, *args, **kwargs)
        query = request.META["QUERY_STRING"]
        return redirect(_page_above(request.path) + (f"?{query}" if query else ""))

    def _answer(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
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
            return self.refusal(request, problem)

    def refusal(self, request: HttpRequest, problem: Problem) -> HttpResponse:
        """Return the page that tells `problem`."""
        return told(render(request, "problem.html", {"problem": problem}), problem)


class WorkspacePage(Page):
    """A page of one workspace, which the person must be a member of; else it is the same 404 as any."""

    #: What a member must have to see it.
    need: ClassVar[Need] = Need(role=Role.VIEWER, scope="any")
    #: The route of the tab that it belongs to; '' for none.
    tab: ClassVar[str] = ""
    #: What cursors of its list are bound to; '' for the name of its class.
    list_name: ClassVar[str] = ""
    #: None until the person is known to be a member.
    workspace: Workspace | None = None
    #: As whom; set before the page is shown.
    access: Access

    def get(self, request: HttpRequest, slug: str, **kwargs: Any) -> HttpResponseBase:
        """Admit the person, then show the page. Raises NotFound, Forbidden."""
        return self.show(request, self._admitted(request, slug), **kwargs)

    def show(self, request: HttpRequest, workspace: Workspace, **kwargs: Any) -> HttpResponseBase:
        """Return the page."""
        raise NotImplementedError

    def render(self, request: HttpRequest, template: str, **context: Any) -> HttpResponse:
        """Return a template of the workspace with what its frame needs."""
        frame = {"workspace": self.workspace, "access": self.access, "tabs": tabs_of(self.access, self.tab)}
        return render(request, template, frame | context)

    def refusal(self, request: HttpRequest, problem: Problem) -> HttpResponse:
        """Return the page that tells `problem`, in the workspace's frame once the person is admitted."""
        if self.workspace is None:
            return super().refusal(request, problem)
        return told(self.render(request, "pages/problem.html", problem=problem), problem)

    def _admitted(self, request: HttpRequest, slug: str) -> Workspace:
        access = access_of(request, slug)
        self.acting.enter_context(acting_in(access.workspace.pk))
        self.access, self.workspace = access, access.workspace
        self.need.check(access)
        return access.workspace


class ActingPage(WorkspacePage):
    """A page with forms: what is posted is done, and answered with a redirect, or with the page again."""

    http_method_names = ("get", "head", "post")

    def post(self, request: HttpRequest, slug: str, **kwargs: Any) -> HttpResponseBase:
        """Admit the person, then do what the form says. Raises NotFound, Forbidden."""
        return self.act(request, self._admitted(request, slug), **kwargs)

    def act(self, request: HttpRequest, workspace: Workspace, **kwargs: Any) -> HttpResponseBase:
        """Do it, and give where to go."""
        raise NotImplementedError


class Act(ActingPage):
    """An act without a page of its own: a form elsewhere posts to it."""

    http_method_names = ("post",)


def _page_above(path: str) -> str:
    """Return the path of the nearest page that `path` lies below."""
    while path := path.rpartition("/")[0]:
        try:
            view = getattr(resolve(path).func, "view_class", object)
        except Resolver404:
            continue
        if issubclass(view, Page) and "get" in view.http_method_names:
            return path
    return "/"


def told(response: HttpResponse, problem: Problem) -> HttpResponse:
    """Return `response` the status and headers of `problem`, and count it."""
    count_problem(problem.status, problem.code)
    response.status_code = problem.status
    for name, value in problem.headers.items():
        response[name] = value
    return response
