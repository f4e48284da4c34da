"""The home page: a person's workspaces, and the form that creates one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django import forms
from django.contrib import messages
from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.text import slugify

from kebab.http.api.errors import NotFound, Problem
from kebab.http.api.pagination import KeysetPage
from kebab.pages.page import Page, apply_problem
from kebab.people.access.caller import Access, Caller, caller_of, member_access, readable_memberships
from kebab.people.pages.form_page import add_problem_to_form
from kebab.people.workspaces import MAX_NAME_CHARS, create_workspace
from kebab.tenancy.current_workspace import acting_everywhere, acting_in
from search.access.querysets import visible_documents, visible_sources

#: Workspaces per page; each takes a count of its own.
CARDS = 24
#: Documents of a workspace are counted up to this number.
COUNT_LIMIT = 10_000
_PLAIN = forms.TextInput(attrs={"autocomplete": "off"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A workspace as its member sees it."""

    access: Access
    #: Documents that the member may read, COUNT_LIMIT at most.
    document_count: int
    has_more: bool
    last_indexed: datetime | None


class NewWorkspaceForm(forms.Form):
    """The name and slug of a new workspace; `create_workspace` validates them."""

    name = forms.CharField(label="Name", max_length=MAX_NAME_CHARS, widget=_PLAIN)
    slug = forms.CharField(
        label="Short name in addresses",
        max_length=63,
        required=False,
        widget=_PLAIN,
        help_text="Lower-case letters, digits and hyphens; made of the name when left empty.",
    )

    def clean_slug(self) -> str:
        """Return the slug, derived from the name if empty. Raises ValidationError if none can be derived."""
        slug: str = self.cleaned_data["slug"] or slugify(self.cleaned_data.get("name", ""))[:63].strip("-")
        if not slug:
            raise forms.ValidationError("Give a short name: none can be made of the name.")
        return slug


class WorkspacesPage(Page):
    """The workspaces of the person, and the form that creates one."""

    http_method_names: Sequence[str] = ("get", "head", "post")
    form: NewWorkspaceForm | None = None

    def get(self, request: HttpRequest) -> HttpResponse:
        """Return the page. Raises InvalidCursor."""
        return self.page(request, self._build_cards(request))

    def post(self, request: HttpRequest) -> HttpResponse:
        """Create a workspace owned by the person. Raises InvalidRequest, Conflict for a taken slug."""
        self.form = form = NewWorkspaceForm(request.POST)
        if not form.is_valid():
            return self.page(request, self._build_cards(request), status=400)
        caller = self._caller(request)
        with acting_everywhere():
            workspace = create_workspace(caller, **form.cleaned_data, owner=caller.user)
        messages.success(request, f"{workspace.name} is made, and you own it.")
        return redirect("search", workspace.slug)

    def render_problem(self, request: HttpRequest, problem: Problem) -> HttpResponse:
        """Show `problem` next to the posted form; without one, on a page of its own."""
        if self.form is None:
            return super().render_problem(request, problem)
        add_problem_to_form(self.form, problem)
        return apply_problem(self.page(request, self._build_cards(request)), problem)

    def page(self, request: HttpRequest, cards: list[Card], *, status: int = 200) -> HttpResponse:
        """Return the page with these workspaces."""
        form = NewWorkspaceForm() if self.form is None else self.form
        context = {"place": "workspaces", "cards": cards, "form": form, "next_cursor": self.next_cursor}
        return render(request, "search/home.html", context, status=status)

    def _build_cards(self, request: HttpRequest) -> list[Card]:
        return [_build_card(access) for access in self._list_accesses(request)]

    def _list_accesses(self, request: HttpRequest) -> list[Access]:
        caller = self._caller(request)
        salt = f"kebab.home:{caller.identity}"
        after = request.GET.get("cursor")
        listed = KeysetPage.after_cursor(after, ordering=("workspace__slug",), limit=CARDS, salt=salt)
        with acting_everywhere():
            rows, self.next_cursor = listed.fetch(readable_memberships(caller.user))
        return [member_access(caller, row) for row in rows]

    def _caller(self, request: HttpRequest) -> Caller:
        caller = caller_of(request)
        if caller is None:
            raise NotFound
        return caller


class HomePage(WorkspacesPage):
    """The site's root: the same page, or a redirect for a person with one workspace."""

    http_method_names = ("get", "head")

    def get(self, request: HttpRequest) -> HttpResponse:
        """Return the page, or a redirect to the only workspace."""
        listed = self._list_accesses(request)
        if len(listed) == 1 and "cursor" not in request.GET:
            return redirect("search", listed[0].workspace.slug)
        return self.page(request, [_build_card(access) for access in listed])


def _build_card(access: Access) -> Card:
    with acting_in(access.workspace.pk):
        found = visible_documents(access.workspace, access.reader).order_by()[: COUNT_LIMIT + 1].count()
        sources = visible_sources(access.workspace, access.reader).order_by()
        last_indexed = sources.aggregate(last=Max("last_indexed_at"))["last"]
    return Card(
        access=access,
        document_count=min(found, COUNT_LIMIT),
        has_more=found > COUNT_LIMIT,
        last_indexed=last_indexed,
    )
