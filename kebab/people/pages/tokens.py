"""Pages of API tokens. A secret is shown once, in the response that created it."""

import json
import uuid
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from kebab.database.querysets import first_or_not_found
from kebab.identity.models import ApiToken, Membership, Role, TokenScope, User, Workspace
from kebab.identity.tokens import with_token_groups
from kebab.pages.page import list_page
from kebab.people.pages.form_page import (
    FormPage,
    GroupsField,
    PeopleAction,
    group_names_by_id,
    offered_groups,
)
from kebab.people.token_lifecycle import MAX_OVERLAP, issue_token, revoke_token, rotate_token
from kebab.tenancy.current_workspace import acting_everywhere

# The last one is of owners' personal tokens alone.
SCOPE_LABELS = {
    TokenScope.SEARCH: _("search: search and read documents"),
    TokenScope.ASK: _("ask: ask questions"),
    TokenScope.INGEST: _("ingest: manage sources and documents"),
    TokenScope.MANAGE: _("manage: change settings and the embedding model"),
    TokenScope.ADMINISTER: _(
        "administer: all that an owner may do, such as change members, tokens and webhooks, in workspaces"
        " that you own; never passwords and sign-in"
    ),
}
_MAX_WORKSPACES = 200
_MAX_MINUTES = int(MAX_OVERLAP.total_seconds() // 60)


class _NewTokenForm(forms.Form):
    """A new token."""

    name = forms.CharField(
        label=_("Name"),
        max_length=200,
        required=False,
        help_text=_("The tool that uses it"),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    scopes = forms.MultipleChoiceField(
        label=_("Permissions"),
        choices=list(SCOPE_LABELS.items())[:-1],
        initial=[TokenScope.SEARCH.value],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Choose at least one permission.")},
    )
    expires_in_days = forms.TypedChoiceField(
        label=_("Expires"),
        coerce=int,
        empty_value=None,
        required=False,
        initial="90",
        choices=[
            ("7", _("after 7 days")),
            ("30", _("after 30 days")),
            ("90", _("after 90 days")),
            ("365", _("after a year")),
            ("", _("never")),
        ],
    )


class WorkspacesField(forms.TypedMultipleChoiceField):
    """Workspaces of a person, by id."""

    widget = forms.CheckboxSelectMultiple

    def __init__(self, **options: Any) -> None:
        super().__init__(label=_("Workspaces"), coerce=uuid.UUID, **options)

    def offer(self, memberships: Sequence[Membership]) -> None:
        """Let the person choose among these."""
        self.choices = [(str(each.workspace_id), each.workspace.name) for each in memberships]


def offered_memberships(user: User) -> list[Membership]:
    """Return the memberships of a person by the names of their workspaces, as many as a form offers."""
    with acting_everywhere():
        mine = Membership.objects.filter(user=user).select_related("workspace")
        return list(mine.order_by("workspace__name")[:_MAX_WORKSPACES])


class PersonalTokenForm(_NewTokenForm):
    """A new token that acts for the person who creates it; one to administer is offered to owners alone."""

    workspace_ids = WorkspacesField(
        required=False, empty_value=None, help_text=_("If you choose none, it acts in all of them.")
    )

    def __init__(self, memberships: Sequence[Membership], *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        scopes: Any = self.fields["scopes"]
        workspaces: Any = self.fields["workspace_ids"]
        workspaces.offer(memberships)
        if any(each.role == Role.OWNER for each in memberships):
            scopes.choices = list(SCOPE_LABELS.items())


def token_options(form: _NewTokenForm) -> dict[str, Any]:
    """Return the options of a new token, with its expiry as a time, of a valid form."""
    options = dict(form.cleaned_data)
    days = options.pop("expires_in_days")
    return {**options, "expires_at": None if days is None else timezone.now() + timedelta(days=days)}


class TokenForm(_NewTokenForm):
    """A new token of a workspace."""

    groups = GroupsField(label=_("Groups"), help_text=_("It reads sources restricted to these groups."))

    def __init__(self, workspace: Workspace, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        offered: Any = self.fields["groups"]
        offered.choices = offered_groups(workspace)


class RotationForm(forms.Form):
    """The rotation of a token: how long the old one still works."""

    overlap_minutes = forms.IntegerField(
        label=_("Minutes until the old token stops working"),
        min_value=0,
        max_value=_MAX_MINUTES,
        initial=60,
        help_text=format_lazy(_("0 to {most}. With 0 it stops at once."), most=_MAX_MINUTES),
    )


class TokensPage(FormPage):
    """The tokens, and the form that creates one."""

    def act(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Create a token; its secret is in this response only. Raises Unprocessable for deleted groups."""
        self.form = form = TokenForm(workspace, request.POST)
        if not form.is_valid():
            return self.render_invalid(request, form)
        token, secret = issue_token(self.access, **token_options(form))
        return self.page(request, made=token, secret=secret)

    def page(self, request: HttpRequest, form: Any = None, **context: Any) -> HttpResponse:
        """Render the tokens, newest first."""
        workspace = self.access.workspace
        listed = list_page(self, request, _tokens_with_groups(workspace), ordering=("-created_at", "id"))
        context |= {
            "form": TokenForm(workspace) if form is None else form,
            "list": listed,
            "tokens": _token_rows(workspace, listed.rows),
        }
        return self.render(request, "people/pages/tokens.html", **context)


class TokenPage(FormPage):
    """One token: its rights, rotation and revocation."""

    def act(self, request: HttpRequest, workspace: Workspace, token_id: uuid.UUID) -> HttpResponse:
        """Rotate the token; the new secret is in this response only. Raises NotFound, Conflict."""
        _get_token(workspace, token_id)
        self.form = form = RotationForm(request.POST)
        if not form.is_valid():
            return self.render_invalid(request, form)
        overlap = timedelta(minutes=form.cleaned_data["overlap_minutes"])
        token, secret = rotate_token(self.access, token_id, overlap)
        return self.page(request, made=token, secret=secret)

    def page(self, request: HttpRequest, form: Any = None, **context: Any) -> HttpResponse:
        """Render the token's page. Raises NotFound."""
        workspace = self.access.workspace
        (shown,) = _token_rows(workspace, [_get_token(workspace, self.kwargs["token_id"])])
        context |= {"form": RotationForm() if form is None else form, "shown": shown}
        return self.render(request, "people/pages/token.html", **context)


@PeopleAction.of()
def revoke(page: PeopleAction, token_id: uuid.UUID) -> HttpResponse:
    """Revoke the token. Raises NotFound."""
    token = _get_token(page.access.workspace, token_id)
    revoke_token(page.access, token)
    return page.finish(_("Token revoked"), "tokens")


def _tokens_with_groups(workspace: Workspace) -> "QuerySet[ApiToken]":
    return with_token_groups(workspace.tokens.select_related("created_by"))


def _get_token(workspace: Workspace, token_id: uuid.UUID) -> ApiToken:
    return first_or_not_found(_tokens_with_groups(workspace).filter(pk=token_id))


def _token_rows(workspace: Workspace, tokens: Any) -> list[dict[str, Any]]:
    """Return the tokens with group names, filters as JSON, '' without any, and state."""
    named = group_names_by_id(workspace, {group for token in tokens for group in token.group_ids})
    return [
        {
            "token": token,
            "groups": sorted(named[group] for group in token.group_ids if group in named),
            "filters": json.dumps(token.filters, ensure_ascii=False) if token.filters else "",
            "state": "revoked" if token.revoked_at else "works" if token.is_usable else "expired",
        }
        for token in tokens
    ]
