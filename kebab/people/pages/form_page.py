"""A page with a form that is shown again, with what was typed, when it is refused."""

from typing import Any, ClassVar

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from kebab.http.api.errors import Problem
from kebab.http.api.permissions import ADMINS, Need
from kebab.pages.page import Act, ActingPage, told


class FormPage(ActingPage):
    """A page for owners and admins; `page` gives it with a form, new or refused."""

    need: ClassVar[Need] = ADMINS
    tab: ClassVar[str] = "people"
    #: What was posted, once it is known what that is to do.
    form: forms.Form | None = None

    def page(self, request: HttpRequest, form: forms.Form | None = None, **context: Any) -> HttpResponse:
        """Return the page; without a form, with an empty one."""
        raise NotImplementedError

    def again(self, request: HttpRequest, form: forms.Form) -> HttpResponse:
        """Return the page with what is wrong with the form."""
        response = self.page(request, form)
        response.status_code = 400
        return response

    def refusal(self, request: HttpRequest, problem: Problem) -> HttpResponse:
        """Tell `problem` beside the form that was posted; without one, on a page of its own."""
        if self.form is None:
            return super().refusal(request, problem)
        tell(self.form, problem)
        return told(self.page(request, self.form), problem)


class PeopleAct(Act):
    """An act of a form elsewhere; what refuses it is told with a way back to the page of the form."""

    need: ClassVar[Need] = ADMINS
    tab: ClassVar[str] = "people"

    def refusal(self, request: HttpRequest, problem: Problem) -> HttpResponse:
        """Tell `problem`, with the way back."""
        if self.workspace is None:
            return super().refusal(request, problem)
        back = reverse(self.tab, args=[self.workspace.slug])
        page = self.render(request, "people/pages/refused.html", problem=problem, back=back)
        return told(page, problem)


def tell(form: forms.Form, problem: Problem) -> None:
    """Write into a checked form what `problem` says of its fields, and the rest above them."""
    for error in problem.errors:
        form.add_error(error.field if error.field in form.fields else None, error.message)
    if not problem.errors:
        form.add_error(None, problem.detail or problem.title)
