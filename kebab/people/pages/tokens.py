"""Tokens on pages: what tools sign in with. A secret is in the answer to what made it, and nowhere else."""

import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone

from kebab.http.api.errors import NotFound
from kebab.pages.pagination import list_page
from kebab.people.issuing import issue_token, rotate_token, take_back
from kebab.people.models import ApiToken, Workspace
from kebab.people.pages.form_page import FormPage, PeopleAct
from kebab.people.pages.forms import names_of
from kebab.people.pages.token_forms import RotationForm, TokenForm
from kebab.people.tokens import with_token_groups


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownToken:
    """A token with the names of its groups, and whether it works."""

    token: ApiToken
    groups: tuple[str, ...]
    #: `works`, `expired` or `revoked`.
    state: str


class TokensPage(FormPage):
    """The tokens, and the form that makes one."""

    def show(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the page. Raises InvalidCursor."""
        return self.page(request)

    def act(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Make a token; its secret is in this answer only. Raises Unprocessable for groups that are gone."""
        self.form = form = TokenForm(workspace, request.POST)
        if not form.is_valid():
            return self.again(request, form)
        asked = dict(form.cleaned_data)
        days = asked.pop("expires_in_days")
        expires_at = None if days is None else timezone.now() + timedelta(days=days)
        token, secret = issue_token(self.access, **asked, expires_at=expires_at)
        return self.page(request, made=token, secret=secret)

    def page(self, request: HttpRequest, form: Any = None, **context: Any) -> HttpResponse:
        """Return the tokens, newest first."""
        workspace = self.access.workspace
        listed = list_page(self, request, _tokens(workspace), ordering=("-created_at", "id"))
        context |= {
            "form": TokenForm(workspace) if form is None else form,
            "list": listed,
            "tokens": _shown(workspace, listed.rows),
        }
        return self.render(request, "people/pages/tokens.html", **context)


class TokenPage(FormPage):
    """One token: what it may, and how it is replaced or revoked."""

    def show(self, request: HttpRequest, workspace: Workspace, token_id: uuid.UUID) -> HttpResponse:
        """Return the page. Raises NotFound."""
        return self.page(request)

    def act(self, request: HttpRequest, workspace: Workspace, token_id: uuid.UUID) -> HttpResponse:
        """Replace the token; the new secret is in this answer only. Raises NotFound, Conflict."""
        _one(workspace, token_id)
        self.form = form = RotationForm(request.POST)
        if not form.is_valid():
            return self.again(request, form)
        overlap = timedelta(minutes=form.cleaned_data["overlap_minutes"])
        token, secret = rotate_token(self.access, token_id, overlap)
        return self.page(request, made=token, secret=secret)

    def page(self, request: HttpRequest, form: Any = None, **context: Any) -> HttpResponse:
        """Return the token's page. Raises NotFound."""
        workspace = self.access.workspace
        (shown,) = _shown(workspace, [_one(workspace, self.kwargs["token_id"])])
        context |= {"form": RotationForm() if form is None else form, "shown": shown}
        return self.render(request, "people/pages/token.html", **context)


class TokenRevocation(PeopleAct):
    """Makes a token useless."""

    def act(self, request: HttpRequest, workspace: Workspace, token_id: uuid.UUID) -> HttpResponse:
        """Do it. Raises NotFound."""
        token = _one(workspace, token_id)
        take_back(self.access, token)
        messages.success(request, f"The token kbb_{token.prefix} is revoked. It opens nothing any more.")
        return redirect("tokens", workspace.slug)


def _tokens(workspace: Workspace) -> "QuerySet[ApiToken]":
    return with_token_groups(workspace.tokens.select_related("created_by"))


def _one(workspace: Workspace, token_id: uuid.UUID) -> ApiToken:
    token = _tokens(workspace).filter(pk=token_id).first()
    if token is None:
        raise NotFound
    return token


def _shown(workspace: Workspace, tokens: Any) -> list[ShownToken]:
    named = names_of(workspace, {group for token in tokens for group in token.group_ids})
    return [
        ShownToken(
            token=token,
            groups=tuple(sorted(named[group] for group in token.group_ids if group in named)),
            state=_state(token),
        )
        for token in tokens
    ]


def _state(token: ApiToken) -> str:
    if token.revoked_at is not None:
        return "revoked"
    return "works" if token.is_usable else "expired"
