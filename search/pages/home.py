"""Pages outside of a workspace: a search of all, and the home page with a person's workspaces."""

import uuid
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.urls import reverse
from django.utils.text import slugify
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from kebab.errors import NotFound, Problem
from kebab.http.api.views import KeysetPage
from kebab.identity.caller import (
    Access,
    Caller,
    Need,
    caller_accesses,
    caller_of,
    member_access,
    readable_memberships,
)
from kebab.identity.models import Role, TokenScope
from kebab.pages.page import Page, apply_problem, tabs_of
from kebab.people.pages.form_page import add_problem_to_form
from kebab.people.workspaces import MAX_NAME_CHARS, create_workspace
from kebab.tenancy.current_workspace import acting_everywhere, acting_in
from search.access.restrictions import visible_documents, visible_sources
from search.engine.several import MAX_WORKSPACES, SeveralResults, search_several
from search.models import Door
from search.pages.file_kind import file_kind
from search.pages.search.form import SearchInput
from search.pages.search.hits import present_hits
from search.pages.search.start import SHOWN, opened_documents, opened_ids
from search.query_log.recorder import record_query
from search.retrieval.errors import SearchError

#: Workspaces per page; each takes a count of its own.
CARDS = 24
#: Documents of a workspace are counted up to this number.
COUNT_LIMIT = 10_000
_PLAIN = forms.TextInput(attrs={"autocomplete": "off"})


class NewWorkspaceForm(forms.Form):
    """The name and slug of a new workspace; `create_workspace` validates them."""

    name = forms.CharField(label=_("Name"), max_length=MAX_NAME_CHARS, widget=_PLAIN)
    slug = forms.CharField(
        label=_("URL name"),
        max_length=63,
        required=False,
        widget=_PLAIN,
        help_text=_("Lower-case letters, digits and hyphens. Leave empty to derive it from the name."),
    )

    def clean_slug(self) -> str:
        """Return the slug, derived from the name if empty. Raises ValidationError if none can be derived."""
        slug: str = self.cleaned_data["slug"] or slugify(self.cleaned_data.get("name", ""))[:63].strip("-")
        if not slug:
            raise forms.ValidationError(_("Enter a URL name: none can be derived from the name."))
        return slug


class WorkspacesPage(Page):
    """The workspaces of the person, and the form that creates one."""

    http_method_names: Sequence[str] = ("get", "head", "post")
    form: NewWorkspaceForm | None = None

    def get(self, request: HttpRequest) -> HttpResponse:
        """Return the page. Raises InvalidCursor."""
        return self.page(request, self._list_accesses(request))

    def post(self, request: HttpRequest) -> HttpResponse:
        """Create a workspace owned by the person. Raises InvalidRequest, Conflict for a taken slug."""
        self.form = form = NewWorkspaceForm(request.POST)
        if not form.is_valid():
            return self.page(request, self._list_accesses(request), status=400)
        caller = self._caller(request)
        with acting_everywhere():
            workspace = create_workspace(caller, **form.cleaned_data, owner=caller.user)
        messages.success(request, _("Workspace created"))
        return redirect("search", workspace.slug)

    def render_problem(self, request: HttpRequest, problem: Problem) -> HttpResponse:
        """Show `problem` next to the posted form; without one, on a page of its own."""
        if self.form is None:
            return super().render_problem(request, problem)
        add_problem_to_form(self.form, problem)
        return apply_problem(self.page(request, self._list_accesses(request)), problem)

    def page(self, request: HttpRequest, accesses: list[Access], *, status: int = 200) -> HttpResponse:
        """Return the page with these workspaces."""
        form = NewWorkspaceForm() if self.form is None else self.form
        opened = opened_ids(request)
        cards = [_build_card(access, opened) for access in accesses]
        recent = [
            (document, file_kind(document.path), card["access"].workspace)
            for card in cards
            for document in card["recent"]
        ]
        context = {
            "place": "workspaces",
            "cards": cards,
            "recent": sorted(recent, key=lambda row: opened.index(row[0].doc_id))[:SHOWN],
            "form": form,
            "next_cursor": self.next_cursor,
        }
        return render(request, "search/home.html", context, status=status)

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
        return self.page(request, listed)


def _build_card(access: Access, opened: list[uuid.UUID]) -> dict[str, Any]:
    """Return a workspace as its member sees it, their recent documents and what needs attention."""
    with acting_in(access.workspace.pk):
        documents = visible_documents(access.workspace, access.reader).order_by()
        found = documents[: COUNT_LIMIT + 1].count()
        recent = opened_documents(access, opened)
        attention = [tab for group in tabs_of(access, "") for tab in group["tabs"] if tab["badge"]]
        sources = visible_sources(access.workspace, access.reader).order_by()
        last_indexed = sources.aggregate(last=Max("last_indexed_at"))["last"]
    return {
        "access": access,
        "document_count": min(found, COUNT_LIMIT),
        "has_more": found > COUNT_LIMIT,
        "last_indexed": last_indexed,
        "attention": attention,
        "recent": recent,
    }


_NEED = Need(role=Role.VIEWER, scope=TokenScope.SEARCH)
_HITS = 20


@Page.of()
def search_everywhere(page: Page) -> HttpResponse:
    """Return the best hits of all workspaces for the query `q`, or a page that asks for one."""
    request, caller = page.request, caller_of(page.request)
    if caller is None:
        raise NotFound
    asked = SearchInput.from_parameters(request.GET)
    context: dict[str, Any] = {"place": "everywhere", "text": asked.text}
    status = 200
    if not asked.is_blank:
        accesses = [each for each in caller_accesses(caller, limit=MAX_WORKSPACES) if _NEED.allows(each)]
        try:
            context |= _search(accesses, asked)
        except SearchError as error:
            context["problem"], status = str(error), error.status
    return render(request, "search/everywhere.html", context, status=status)


@require_safe
def describe_search(request: HttpRequest) -> HttpResponse:
    """Return the OpenSearch 1.1 description, by which browsers search from their address bar; for anyone."""
    context = {
        "description": gettext("Search all workspaces"),
        "icon": request.build_absolute_uri(static("kebab/kebab.svg")),
        "page": request.build_absolute_uri(reverse("everywhere")),
    }
    type_ = "application/opensearchdescription+xml"
    return render(request, "search/opensearch.xml", context, content_type=type_)


def _search(accesses: list[Access], asked: SearchInput) -> dict[str, Any]:
    query = asked.query()
    found = search_several(accesses, lambda access: query, k=_HITS, per_workspace=_HITS)
    for access, result in found.by_workspace:
        record_query(access.workspace, result, door=Door.PAGE, caller=access.identity)
    shown = dict(_present(found, asked))
    return {
        "found": found,
        "hits": [(each.workspace, shown[each.workspace.pk, each.hit.chunk_id]) for each in found.hits],
        "notes": [
            f"{access.workspace.name}: {message}"
            for access, result in found.by_workspace
            for message in result.warnings
        ],
        "promoted": [answer for _, result in found.by_workspace for answer in result.promoted],
        "spaces": [
            (
                access.workspace,
                found.count_hits(access.workspace),
                f"{reverse('search', args=[access.workspace.slug])}?{urlencode({'q': asked.text})}",
            )
            for access, _ in found.by_workspace
        ],
    }


def _present(found: SeveralResults, asked: SearchInput) -> Any:
    """Yield the view model of each hit by its workspace and chunk."""
    for access, result in found.by_workspace:
        chosen = {each.hit.chunk_id for each in found.hits if each.workspace == access.workspace}
        hits = [hit for hit in result.hits if hit.chunk_id in chosen]
        with acting_in(access.workspace.pk):
            shown = present_hits(access, asked, hits)
        for each in shown:
            yield (access.workspace.pk, each["hit"].chunk_id), each
