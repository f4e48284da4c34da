"""The profile page: what a person sets for themselves, their sessions and their tokens."""

import uuid
from collections.abc import Sequence
from typing import Any, Final
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone, translation
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kebab.accounts.forms import THEMES, TIME_ZONES, ProfileForm
from kebab.accounts.sign_in import end_sessions
from kebab.identity.models import ApiToken, User
from kebab.middleware import Middleware
from kebab.pages.page import Page, PostPage
from kebab.people.pages.tokens import PersonalTokenForm, offered_memberships, token_options
from kebab.people.token_lifecycle import issue_personal_token, revoke_personal_token
from kebab.tenancy.current_workspace import acting_everywhere

#: Tokens for workspaces on the page; further ones are on the pages of their workspaces.
_WORKSPACE_TOKENS = 20


class ProfilePage(Page):
    """Name, language, time zone and theme of the person."""

    http_method_names: Sequence[str] = ("get", "head", "post")

    def get(self, request: HttpRequest) -> HttpResponse:
        """Return the page."""
        return render_profile(request)

    def post(self, request: HttpRequest) -> HttpResponse:
        """Save the form, or show it again with what is wrong."""
        form = ProfileForm(request.POST, instance=person_of(request))
        if not form.is_valid():
            return render_profile(request, status=400, form=form)
        form.save()
        messages.success(request, _("Profile saved"))
        return redirect("profile")


@PostPage.of()
def create_token(page: PostPage) -> HttpResponse:
    """Create a token that acts for the person, its secret in this answer alone, or show the form again."""
    user = person_of(page.request)
    form = PersonalTokenForm(offered_memberships(user), page.request.POST)
    if not form.is_valid():
        return render_profile(page.request, status=400, token_form=form)
    made, secret = issue_personal_token(user, **token_options(form))
    return render_profile(page.request, made=made, secret=secret)


@PostPage.of()
def revoke_token(page: PostPage, token_id: uuid.UUID) -> HttpResponse:
    """Revoke a token of the person. Raises NotFound, which becomes a page."""
    revoke_personal_token(person_of(page.request), token_id)
    messages.success(page.request, _("Token revoked"))
    return redirect("profile")


@PostPage.of()
def set_theme(page: PostPage) -> HttpResponse:
    """Store the theme of the person's pages, an unknown one as that of the system, and return to the page."""
    request, user = page.request, person_of(page.request)
    theme = request.POST.get("theme", "")
    user.theme = theme if theme in THEMES else ""
    user.save(update_fields=["theme"])
    back = request.headers.get("Referer", "")
    is_own = url_has_allowed_host_and_scheme(back, {request.get_host()}, require_https=request.is_secure())
    return redirect(back if is_own else "profile")


@PostPage.of()
def end_other_sessions(page: PostPage) -> HttpResponse:
    """Log the person out on their other devices: end all sessions but this one."""
    request = page.request
    ended = end_sessions(person_of(request), except_key=request.session.session_key)
    messages.success(
        request,
        ngettext("Logged out on %(count)d other device.", "Logged out on %(count)d other devices.", ended)
        % {"count": ended},
    )
    return redirect("profile")


def person_of(request: HttpRequest) -> User:
    """Return the signed-in person; pages of the profile have no others."""
    assert isinstance(request.user, User)  # noqa: S101  # `Page` lets nobody else in
    return request.user


def render_profile(request: HttpRequest, *, status: int = 200, **context: Any) -> HttpResponse:
    """Return the profile page, with new forms where `context` has none."""
    user = person_of(request)
    with acting_everywhere():
        tokens = list(_own_tokens(user))
    # All of them: they can be revoked here alone.
    live = user.personal_tokens.filter(revoked_at=None).exclude(client=None, expires_at__lte=timezone.now())
    defaults = {
        "form": ProfileForm(instance=user),
        "token_form": PersonalTokenForm(offered_memberships(user)),
        "place": "profile",
        "tokens": tokens,
        "personal_tokens": live.order_by("-created_at"),
    }
    return render(request, "accounts/profile.html", defaults | context, status=status)


def _own_tokens(user: User) -> "QuerySet[ApiToken]":
    own = ApiToken.objects.filter(created_by=user, revoked_at=None).select_related("workspace")
    return own.order_by("-created_at")[:_WORKSPACE_TOKENS]


#: The cookie in which a script of the pages names the browser's time zone.
ZONE_COOKIE: Final = "kebab_zone"
# Answers for programs, which are in English; scripts of pages, which have cookies, show them to people.
_PROGRAMS: Final = ("/api/v1/", "/api/schema/")


class ApplyPreferences(Middleware):
    """Activates the language and the time zone of whoever requests a page."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Process the request in the reader's language and time zone."""
        if request.path_info.startswith(_PROGRAMS) and "HTTP_COOKIE" not in request.META:
            return self._get_response(request)
        with translation.override(_language(request)), timezone.override(_zone(request)):
            response = self._get_response(request)
            response.headers.setdefault("Content-Language", translation.get_language())
            return response


def _language(request: HttpRequest) -> str:
    chosen = getattr(request.user, "language", "")
    known = dict(settings.LANGUAGES)
    return chosen if chosen in known else translation.get_language_from_request(request)


def _zone(request: HttpRequest) -> ZoneInfo:
    for name in (getattr(request.user, "time_zone", ""), request.COOKIES.get(ZONE_COOKIE, "")):
        if name in TIME_ZONES:
            return ZoneInfo(name)
    return ZoneInfo(settings.TIME_ZONE)
