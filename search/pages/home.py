"""Home: the workspaces of a person, and how one is made."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.text import slugify

from kebab.http.api.errors import Problem
from kebab.http.api.pagination import KeysetPage
from kebab.pages.page import Page, told
from kebab.people.access.caller import Access, Caller, caller_of, member_access, readable_memberships
from kebab.people.pages.form_page import tell
from kebab.people.workspaces import MAX_NAME_CHARS, create_workspace
from kebab.tenancy.current_workspace import acting_everywhere, acting_in
from search.access.querysets import documents_of, sources_of

#: How many workspaces are shown at once: each is counted by itself.
CARDS = 24
#: How far the documents of one are counted.
COUNTED = 10_000
_PLAIN = forms.TextInput(attrs={"autocomplete": "off"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A workspace as its member sees it."""

    access: Access
    #: Of the documents that there are for the member, COUNTED at most.
    document_count: int
    has_more: bool
    last_indexed: datetime | None


class NewWorkspaceForm(forms.Form):
    """What a workspace is called; whether it may be is for `create_workspace` to say."""

    name = forms.CharField(label="Name", max_length=MAX_NAME_CHARS, widget=_PLAIN)
    slug = forms.CharField(
        label="Short name in addresses",
        max_length=63,
        required=False,
        widget=_PLAIN,
        help_text="Lower-case letters, digits and hyphens; made of the name when left empty.",
    )

    def clean_slug(self) -> str:
        """Give it. Raises ValidationError when the name has no letters to make one of."""
        slug: str = self.cleaned_data["slug"] or slugify(self.cleaned_data.get("name", ""))[:63].strip("-")
        if not slug:
            raise forms.ValidationError("Give a short name: none can be made of the name.")
        return slug


class WorkspacesPage(Page):
    """The workspaces of the person, and the form that makes one."""

    http_method_names = ("get", "head", "post")
    form: NewWorkspaceForm | None = None

    def get(self, request: HttpRequest) -> HttpResponse:
        """Return the page. Raises InvalidCursor."""
        return self.page(request, self._cards(request))

    def post(self, request: HttpRequest) -> HttpResponse:
        """Make a workspace, which the person then owns. Raises InvalidRequest, Conflict for a taken slug."""
        self.form = form = NewWorkspaceForm(request.POST)
        if not form.is_valid():
            return self.page(request, self._cards(request), status=400)
        caller = self._caller(request)
        with acting_everywhere():
            made = create_workspace(caller, **form.cleaned_data, owner=caller.user)
        messages.success(request, f"{made.name} is made, and you own it.")
        return redirect("search", made.slug)

    def refusal(self, request: HttpRequest, problem: Problem) -> HttpResponse:
        """Tell `problem` beside the form that was posted; without one, on a page of its own."""
        if self.form is None:
            return super().refusal(request, problem)
        tell(self.form, problem)
        return told(self.page(request, self._cards(request)), problem)

    def page(self, request: HttpRequest, cards: list[Card], *, status: int = 200) -> HttpResponse:
        """Return the page with these workspaces."""
        form = NewWorkspaceForm() if self.form is None else self.form
        context = {"cards": cards, "form": form, "next_cursor": self.next_cursor}
        return render(request, "search/home.html", context, status=status)

    def _cards(self, request: HttpRequest) -> list[Card]:
        return [_card(access) for access in self._listed(request)]

    def _listed(self, request: HttpRequest) -> list[Access]:
        caller = self._caller(request)
        salt = f"kebab.home:{caller.identity}"
        after = request.GET.get("cursor")
        listed = KeysetPage.behind(after, ordering=("workspace__slug",), limit=CARDS, salt=salt)
        with acting_everywhere():
            rows, self.next_cursor = listed.cut(readable_memberships(caller.user))
        return [member_access(caller, row) for row in rows]

    def _caller(self, request: HttpRequest) -> Caller:
        caller: Any = caller_of(request)
        return caller  # type: ignore[no-any-return]


class HomePage(WorkspacesPage):
    """The same at the site's root; who has one workspace is taken there."""

    http_method_names = ("get", "head")

    def get(self, request: HttpRequest) -> HttpResponse:
        """Return the page, or the way to the only workspace."""
        listed = self._listed(request)
        if len(listed) == 1 and "cursor" not in request.GET:
            return redirect("search", listed[0].workspace.slug)
        return self.page(request, [_card(access) for access in listed])


def _card(access: Access) -> Card:
    with acting_in(access.workspace.pk):
        found = documents_of(access.workspace, access.reader).order_by()[: COUNTED + 1].count()
        sources = sources_of(access.workspace, access.reader).order_by()
        last_indexed = sources.aggregate(last=Max("last_indexed_at"))["last"]
    return Card(
        access=access,
        document_count=min(found, COUNTED),
        has_more=found > COUNTED,
        last_indexed=last_indexed,
    )
