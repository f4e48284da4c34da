"""Pages that add and edit sources."""

import uuid
from collections.abc import Collection
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from ingest.api.querysets import get_source
from ingest.api.sources.configs import CHANGE_SOURCES, validate_change
from ingest.api.sources.serializers import NewSource, SourceChange
from ingest.connectors.kinds import KINDS
from ingest.pages.sources.forms import DescriptionForm, NewSourceForm, SourceForm
from ingest.services.connection_probe import probe_connection
from ingest.services.sources import add_source, sync_source, update_source
from kebab.errors import NotFound, Problem
from kebab.http.api.serializers import validate_fields
from kebab.identity.caller import ADMINS
from kebab.identity.models import Group, Workspace
from kebab.people.groups import MAX_GROUPS
from kebab.people.pages.form_page import FormPage
from search.access.restrictions import readers_of
from search.models import Source


class _SourceFormPage(FormPage):
    """A page with the form of one source."""

    need = CHANGE_SOURCES
    tab = "sources"
    form: DescriptionForm | None = None

    def add_problem(self, form: Any, problem: Problem) -> None:
        """Show the problem at the fields of the posted form."""
        form.add_problem(problem)

    def selectable_groups(self, chosen: Collection[uuid.UUID] = ()) -> list[Group] | None:
        """Return the groups to choose from, including those `chosen`; None if the visitor may not choose."""
        if not ADMINS.allows(self.access):
            return None
        groups = Group.objects.filter(workspace=self.access.workspace).order_by("name")
        shown = list(groups[:_SHOWN_GROUPS])
        return [*shown, *groups.filter(pk__in=set(chosen) - {group.pk for group in shown})]


class NewSourcePage(_SourceFormPage):
    """The page that adds a source."""

    def show(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the choice of kinds, or the form of one. Raises NotFound for an unknown kind."""
        if "kind" not in request.GET:
            kinds = [kind for kind in KINDS.values() if kind.is_offered]
            return self.render(request, "ingest/new_source.html", kinds=kinds)
        return self.page(request, self._form())

    def act(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Create the source and sync it, or test its connection.

        Raises what `add_source` and `probe_connection` raise, and ValidationError.
        """
        form = self._form(request.POST)
        if not form.is_valid():
            return self.render_invalid(request, form)
        self.form = form
        if "test" in request.POST:
            given = validate_fields(NewSource, form.body())
            found = probe_connection(self.access, given["kind"], given["config"])
            return (
                self._connection(found, is_good=True)
                if self._is_partial_test
                else self.page(request, form, connection=found, is_good=True)
            )
        source = add_source(self.access, validate_fields(NewSource, form.body()))
        job = sync_source(self.access, source)
        messages.success(
            request, _("Added %(source)s. The first sync has started.") % {"source": source.title}
        )
        return redirect("act", workspace.slug, job.pk)

    def page(self, request: HttpRequest, form: Any = None, **context: Any) -> HttpResponse:
        """Return the page around the form."""
        return self.render(request, "ingest/new_source.html", form=form, **context)

    def render_invalid(self, request: HttpRequest, form: Any) -> HttpResponse:
        """Render the page with the form's errors; the result of a test shows those alone."""
        if not self._is_partial_test:
            return super().render_invalid(request, form)
        return self._connection(" ".join(error for field in form.errors.values() for error in field))

    def render_problem(self, request: HttpRequest, problem: Problem) -> HttpResponse:
        """Render the page with the problem; the result of a test shows that alone."""
        if self.form is None or not self._is_partial_test:
            return super().render_problem(request, problem)
        return self._connection(" ".join(error.message for error in problem.errors) or problem.detail)

    @property
    def _is_partial_test(self) -> bool:
        return bool(self.request.htmx) and "test" in self.request.POST

    def _connection(self, words: str, *, is_good: bool = False) -> HttpResponse:
        return self.render(self.request, "ingest/connection.html", connection=words, is_good=is_good)

    def _form(self, data: Any = None) -> NewSourceForm:
        kind = KINDS.get(self.request.GET.get("kind", ""))
        if kind is None or not kind.is_offered:
            raise NotFound
        return NewSourceForm(data, declared=kind, groups=self.selectable_groups())


class EditSourcePage(_SourceFormPage):
    """The page that edits a source."""

    #: The source that is edited.
    source: Source

    def show(self, request: HttpRequest, workspace: Workspace, source_id: uuid.UUID) -> HttpResponse:
        """Return the form with the present values. Raises NotFound."""
        self.source = get_source(self.access, source_id)
        return self.page(request, self._form())

    def act(self, request: HttpRequest, workspace: Workspace, source_id: uuid.UUID) -> HttpResponse:
        """Update the source. Raises NotFound, what `update_source` raises, and ValidationError."""
        self.source = get_source(self.access, source_id)
        form = self._form(request.POST)
        if not form.is_valid():
            return self.render_invalid(request, form)
        self.form = form
        changes = validate_change(self.source, validate_fields(SourceChange, form.body()))
        update_source(self.access, self.source, changes)
        messages.success(request, _("Saved."))
        return redirect("source", workspace.slug, source_id)

    def page(self, request: HttpRequest, form: Any = None, **context: Any) -> HttpResponse:
        """Return the page around the form."""
        return self.render(request, "ingest/edit_source.html", form=form, source=self.source)

    def _form(self, data: Any = None) -> SourceForm:
        groups = self.selectable_groups(readers_of(self.source) or ())
        return SourceForm(data, source=self.source, groups=groups, initial=_initial_values(self.source))


# Twice as many as a source may have.
_SHOWN_GROUPS = 2 * MAX_GROUPS


def _initial_values(source: Source) -> dict[str, Any]:
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
