"""The page of saved searches, and the actions of its forms."""

import uuid
from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kebab.http.site_address import site_address
from kebab.identity.caller import Need
from kebab.identity.models import Role, TokenScope, Workspace
from kebab.pages.page import PostAction, list_page
from kebab.people.invitations import mail_is_delivered
from kebab.people.pages.form_page import FormPage
from search.models import Notify, SavedSearch
from search.notifications.saved_searches import (
    change_search,
    close_feed,
    delete_search,
    get_search,
    open_feed,
    own_searches,
    page_address,
    save_search,
)
from search.pages.search.form import SearchInput

_READ = Need(role=Role.VIEWER, scope=TokenScope.SEARCH)


class SavedSearchForm(forms.Form):
    """Name and alerts of a saved search."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=200, required=False)
    notify = forms.ChoiceField(label=gettext_lazy("When new documents match"), choices=Notify.choices)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if not mail_is_delivered():
            offered: Any = self.fields["notify"]
            offered.choices = [each for each in Notify.choices if each[0] != Notify.MAIL]


class SavedSearchesPage(FormPage):
    """The person's saved searches; a POST saves the search of its address."""

    need: ClassVar[Need] = _READ
    tab = "bookmarks"

    def act(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Save the search. Raises SearchError, Conflict."""
        self.form = form = SavedSearchForm(request.POST)
        if not form.is_valid():
            return self.render_invalid(request, form)
        searched = SearchInput.from_parameters(request.GET)
        save_search(
            self.access,
            text=searched.text,
            mode=searched.query().mode,
            filters=searched.filters_json(),
            **form.cleaned_data,
        )
        messages.success(request, _("Search saved"))
        return redirect("saved-searches", workspace.slug)

    def page(self, request: HttpRequest, form: forms.Form | None = None, **context: Any) -> HttpResponse:
        """Render the list, newest first, below the form if the address has a search."""
        asked = SearchInput.from_parameters(request.GET)
        if form is None and not asked.is_blank:
            form = SavedSearchForm(initial={"name": asked.text[:200]}, auto_id="new_%s")
        rows = own_searches(self.access).select_related("workspace")
        listed = list_page(self, request, rows, ordering=("-created_at", "id"))
        found = [(saved, page_address(saved), _change_form(saved)) for saved in listed.rows]
        return self.render(
            request, "search/saved_searches.html", asked=asked, list=listed, rows=found, form=form, **context
        )


def _change_form(saved: SavedSearch) -> SavedSearchForm:
    initial = {"name": saved.name, "notify": saved.notify}
    return SavedSearchForm(initial=initial, auto_id=f"saved_{saved.pk.hex}_%s")


@PostAction.of(need=_READ, tab="bookmarks")
def change_saved_search(page: PostAction, search_id: uuid.UUID) -> HttpResponse:
    """Change it. Raises NotFound."""
    saved = get_search(page.access, search_id)
    form = SavedSearchForm(page.request.POST)
    if form.is_valid():
        name = form.cleaned_data["name"] or saved.name
        change_search(page.access, search_id, name=name, notify=form.cleaned_data["notify"])
        messages.success(page.request, _("Search changed"))
    else:
        messages.error(page.request, _("Nothing was changed: the name or the choice is not possible."))
    return redirect("saved-searches", page.access.workspace.slug)


@PostAction.of(need=_READ, tab="bookmarks")
def delete_saved_search(page: PostAction, search_id: uuid.UUID) -> HttpResponse:
    """Delete it. Raises NotFound."""
    delete_search(page.access, search_id)
    return page.finish(_("Saved search deleted"), "saved-searches")


class SavedSearchFeed(SavedSearchesPage):
    """Opens the feed of a saved search, whose address is in this answer alone, or closes it."""

    http_method_names = ("post",)

    def act(self, request: HttpRequest, workspace: Workspace, search_id: uuid.UUID) -> HttpResponse:  # type: ignore[override]  # of one search
        """Open the feed, or close it with `on=no`. Raises NotFound."""
        if request.GET.get("on") == "no":
            close_feed(self.access, search_id)
            messages.success(request, _("Feed closed"))
            return redirect("saved-searches", workspace.slug)
        saved, path = open_feed(self.access, search_id)
        return self.page(request, opened=saved, feed=site_address(request) + path)
