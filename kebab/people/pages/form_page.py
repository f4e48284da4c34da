"""Pages with forms that are shown again, with the input and the errors, when they are refused."""

from typing import Any, ClassVar

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from kebab.errors import Problem
from kebab.identity.permissions import ADMINS, Need
from kebab.pages.page import ActionPage, PostAction, apply_problem


class FormPage(ActionPage):
    """A page for owners and admins; `page` renders it with a new or a refused form."""

    need: ClassVar[Need] = ADMINS
    tab: ClassVar[str] = "people"
    #: The posted form, once it has been parsed.
    form: forms.Form | None = None

    def show(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Return the page with an empty form. Raises what `page` raises."""
        return self.page(request)

    def page(self, request: HttpRequest, form: forms.Form | None = None, **context: Any) -> HttpResponse:
        """Render the page, with an empty form if none is given."""
        raise NotImplementedError

    def render_invalid(self, request: HttpRequest, form: forms.Form) -> HttpResponse:
        """Render the page with the form's errors, status 400."""
        response = self.page(request, form)
        response.status_code = 400
        return response

    def render_problem(self, request: HttpRequest, problem: Problem) -> HttpResponse:
        """Render the page with `problem` in the posted form; without a form, an error page."""
        if self.form is None:
            return super().render_problem(request, problem)
        self.add_problem(self.form, problem)
        return apply_problem(self.page(request, self.form), problem)

    def add_problem(self, form: Any, problem: Problem) -> None:
        """Add `problem` to the posted form."""
        add_problem_to_form(form, problem)


class PeopleAction(PostAction):
    """An action of a form on another page; its error page links back to that page."""

    need: ClassVar[Need] = ADMINS
    tab: ClassVar[str] = "people"

    def render_problem(self, request: HttpRequest, problem: Problem) -> HttpResponse:
        """Render the error page with a link back."""
        if self.workspace is None or problem.status == 403:
            return super().render_problem(request, problem)
        back = reverse(self.tab, args=[self.workspace.slug])
        return apply_problem(self.render(request, "pages/problem.html", problem=problem, back=back), problem)


def add_problem_to_form(form: forms.Form, problem: Problem) -> None:
    """Add the errors of `problem` to the fields of a validated form, and the rest above them."""
    for error in problem.errors:
        form.add_error(error.field if error.field in form.fields else None, error.message)
    if not problem.errors:
        form.add_error(None, problem.detail or problem.title)
