"""What all pages share: a person is logged in, and what can't be done is told on a page."""

import logging
from contextlib import ExitStack
from typing import Any

from django.contrib.auth.mixins import LoginRequiredMixin
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.cache import never_cache

from kebab.api.errors import Problem
from kebab.api.problems import problem_of
from kebab.people.access import Access, access_of
from kebab.people.models import Workspace
from kebab.tenancy.acting import acting_in

logger = logging.getLogger(__name__)


@method_decorator(never_cache, name="dispatch")  # after logging out, Back must not show them
class Page(LoginRequiredMixin, View):
    """A page for a logged-in person; others are sent to log in, whatever the address."""

    http_method_names = ("get", "head")
    #: Where the page acts, until it is made.
    acting: ExitStack

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Answer. Errors that a caller is told become pages; the rest is Django's to report."""
        with ExitStack() as self.acting:
            return self._answer(request, *args, **kwargs)

    def _answer(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return super().dispatch(request, *args, **kwargs)  # type: ignore[return-value]
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
        """Give the page that tells `problem`."""
        return told(render(request, "problem.html", {"problem": problem}), problem)


class WorkspacePage(Page):
    """A page of one workspace, which the person must be a member of; else it is the same 404 as any."""

    #: None until the person is known to be a member.
    workspace: Workspace | None = None
    #: As whom; set before the page is shown.
    access: Access

    def get(self, request: HttpRequest, slug: str, **kwargs: Any) -> HttpResponse:
        """Admit the person, then show the page. Raises NotFound."""
        self.access = access_of(request, slug)
        self.workspace = self.access.workspace
        self.acting.enter_context(acting_in(self.workspace.pk))
        return self.show(request, self.workspace, **kwargs)

    def show(self, request: HttpRequest, workspace: Workspace, **kwargs: Any) -> HttpResponse:
        """Give the page."""
        raise NotImplementedError


def told(response: HttpResponse, problem: Problem) -> HttpResponse:
    """Give `response` the status and headers of `problem`."""
    response.status_code = problem.status
    for name, value in problem.headers.items():
        response[name] = value
    return response
