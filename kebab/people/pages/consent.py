"""The page on which a person connects a client to their workspaces, or refuses it."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from authlib.oauth2 import OAuth2Error
from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _

from kebab.errors import InvalidRequest
from kebab.http.security_headers import REDIRECTING_POLICY
from kebab.identity.models import Membership, User
from kebab.pages.page import Page
from kebab.people.oauth.server import AuthorizationServer, Consent, has_unsafe_text, name_issuer
from kebab.people.pages.tokens import SCOPE_LABELS, WorkspacesField, offered_memberships


class ConsentForm(forms.Form):
    """The workspaces that a client may see."""

    workspaces = WorkspacesField(error_messages={"required": _("Choose at least one workspace.")})

    def __init__(self, memberships: Sequence[Membership], *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        offered: Any = self.fields["workspaces"]
        offered.offer(memberships)
        if len(memberships) == 1:
            offered.initial = [str(memberships[0].workspace_id)]


class ConsentPage(Page):
    """Shows who asks for what, and sends the person back to the client with a code, or without."""

    http_method_names: Sequence[str] = ("get", "head", "post")

    def get(self, request: HttpRequest) -> HttpResponse:
        """Return the page, or the refusal of the client's request. Raises InvalidRequest."""
        return self._decide(request, None)

    def post(self, request: HttpRequest) -> HttpResponse:
        """Send the decision to the client, or show the form again. Raises InvalidRequest."""
        return self._decide(request, request.POST.get("decision", ""))

    def _decide(self, request: HttpRequest, decision: str | None) -> HttpResponse:
        if has_unsafe_text(request):
            raise InvalidRequest("A parameter of the client has characters that none may have.")
        user, server = request.user, AuthorizationServer()
        assert isinstance(user, User)  # noqa: S101  # `Page` lets nobody else in
        memberships = offered_memberships(user)
        form = ConsentForm(memberships, request.POST if decision == "allow" else None)
        try:
            grant = server.get_consent_grant(request, end_user=user)
            if decision is None or (decision == "allow" and not form.is_valid()):
                return self._render(request, grant, form, status=200 if decision is None else 400)
            consent = (
                Consent(user=user, workspace_ids=form.cleaned_data["workspaces"])
                if decision == "allow"
                else None
            )
            response = server.create_authorization_response(request, consent, grant)
        except OAuth2Error as error:
            if error.redirect_uri is None:
                raise InvalidRequest(str(error.description)) from error
            response = server.handle_error_response(request, error)
        return name_issuer(response, request)

    def _render(self, request: HttpRequest, grant: Any, form: ConsentForm, *, status: int) -> HttpResponse:
        redirect_uri: str = grant.redirect_uri
        context = {
            "form": form,
            "client": grant.client.row,
            "host": urlsplit(redirect_uri).netloc,
            "is_local": redirect_uri.startswith("http:"),
            "scopes": [SCOPE_LABELS[each] for each in grant.request.scope.split()],
        }
        page = render(request, "people/pages/consent.html", context, status=status)
        # Chromium applies `form-action` to each redirect, and clients have more of them.
        page["Content-Security-Policy"] = REDIRECTING_POLICY
        return page
