"""The pages on which a source is added, and what is said of one is changed."""

import uuid
from collections.abc import Collection
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from ingest.api.querysets import one_source
from ingest.api.sources.serializers import NewSource, SourceChange
from ingest.pages.rights import CHANGE, may
from ingest.pages.sources.forms import NEW, DescriptionForm, NewSourceForm, SourceForm
from ingest.services.sources import make_source, restate_source, sync_source
from kebab.http.api.errors import NotFound, Problem
from kebab.http.api.permissions import ADMINS
from kebab.http.api.serializers import validated
from kebab.pages.page import ActingPage, told
from kebab.people.groups import MAX_GROUPS
from kebab.people.models import Group, Workspace
from search.access.restrictions import readers_of
from search.models import Source


class _FormPage(ActingPage):
    """A page with one form, which is shown again with what was wrong."""

    need = CHANGE
    tab = "sources"
    #: The form that was sent; None while none was.
    sent: DescriptionForm | None = None

    def form_page(self, request: HttpRequest, form: DescriptionForm) -> HttpResponse:
        """Return the page around the form."""
        raise NotImplementedError

    def refusal(self, request: HttpRequest, problem: Problem) -> HttpResponse:
        """Return the form as it was sent, with what was wrong beside it."""
        if self.sent is None:
            return super().refusal(request, problem)
        self.sent.tell(problem)
        return told(self.form_page(request, self.sent), problem)

    def wrong(self, request: HttpRequest, form: DescriptionForm) -> HttpResponse:
        """Return the form with what its own fields say."""
        response = self.form_page(request, form)
        response.status_code = 400
        return response

    def groups(self, chosen: Collection[uuid.UUID] = ()) -> list[Group] | None:
        """Return the groups that may be chosen of, those that are `chosen` too; None for who may
        not choose.
        """
        if not may(self.access, ADMINS):
            return None
        groups = Group.objects.filter(workspace=self.access.workspace).order_by("name")
        shown = list(groups[:_SHOWN_GROUPS])
        return [*shown, *groups.filter(pk__in=set(chosen) - {group.pk for group in shown})]


class NewSourcePage(_FormPage):
    """Adding a source."""

    def show(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the kinds there are, or the form of one. Raises NotFound for a kind that there isn't."""
        if "kind" not in request.GET:
            return self.render(request, "ingest/new_source.html")
        return self.form_page(request, self._form(request)(groups=self.groups()))

    def act(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Make the source and read it. Raises what `make_source` raises, and ValidationError."""
        form = self._form(request)(request.POST, groups=self.groups())
        if not form.is_valid():
            return self.wrong(request, form)
        self.sent = form
        source = make_source(self.access, validated(NewSource, form.body()))
        job = sync_source(self.access, source)
        messages.success(request, f"{source.title} is added, and being read for the first time.")
        return redirect("job", workspace.slug, job.pk)

    def form_page(self, request: HttpRequest, form: DescriptionForm) -> HttpResponse:
        """Return the page around the form."""
        return self.render(request, "ingest/new_source.html", form=form, kind=request.GET["kind"])

    def _form(self, request: HttpRequest) -> type[NewSourceForm]:
        form = NEW.get(request.GET.get("kind", ""))
        if form is None:
            raise NotFound
        return form


class EditSourcePage(_FormPage):
    """Saying something else of a source."""

    #: The source that is changed.
    source: Source

    def show(self, request: HttpRequest, workspace: Workspace, source_id: uuid.UUID) -> HttpResponse:
        """Return the form with what is said now. Raises NotFound."""
        self.source = one_source(self.access, source_id)
        return self.form_page(request, self._form())

    def act(self, request: HttpRequest, workspace: Workspace, source_id: uuid.UUID) -> HttpResponse:
        """Change it. Raises NotFound, what `restate_source` raises, and ValidationError."""
        self.source = one_source(self.access, source_id)
        form = self._form(request.POST)
        if not form.is_valid():
            return self.wrong(request, form)
        self.sent = form
        restate_source(self.access, self.source, validated(SourceChange, form.body()))
        messages.success(request, "Saved.")
        return redirect("source", workspace.slug, source_id)

    def form_page(self, request: HttpRequest, form: DescriptionForm) -> HttpResponse:
        """Return the page around the form."""
        return self.render(request, "ingest/edit_source.html", form=form, source=self.source)

    def _form(self, sent: Any = None) -> SourceForm:
        groups = self.groups(readers_of(self.source) or ())
        return SourceForm(sent, source=self.source, groups=groups, initial=_said(self.source))


# As many as a source may name, and as many again.
_SHOWN_GROUPS = 2 * MAX_GROUPS


def _said(source: Source) -> dict[str, Any]:
    readers = readers_of(source)
    return {
        "title": source.title or source.key,
        "description": source.description,
        "tags": source.default_tags,
        "trust": source.default_trust,
        "schedule": source.sync_every_minutes,
        "watch": source.watch,
        "is_restricted": readers is not None,
        "readers": [str(group) for group in readers or []],
    }
