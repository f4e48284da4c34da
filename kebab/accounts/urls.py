"""URLs of the account pages."""

from django.urls import path
from django.views.generic import RedirectView

from kebab.accounts.oidc import ProviderCallback, ProviderRedirect
from kebab.accounts.profile import ProfilePage, create_token, end_other_sessions, revoke_token, set_theme
from kebab.accounts.secret_links import OpenLink
from kebab.accounts.views import (
    INVITATION_COOKIE,
    RESET_COOKIE,
    ChangePassword,
    InvitationPage,
    RequestReset,
    ResetRequested,
    SetPassword,
    SignIn,
    SignOut,
)
from kebab.people.invitations import mail_is_delivered

_MAIL = {"is_mailed": mail_is_delivered}
_RESET_LINK = OpenLink.as_view(cookie=RESET_COOKIE, page="password-reset-form")
_INVITATION_LINK = OpenLink.as_view(cookie=INVITATION_COOKIE, page="invitation")

urlpatterns = [
    path("login", SignIn.as_view(), name="login"),
    path("logout", SignOut.as_view(), name="logout"),
    path("login/oidc", ProviderRedirect.as_view(), name="oidc"),
    path("login/<slug:provider_id>/callback", ProviderCallback.as_view(), name="openid_connect_callback"),
    path("profile", ProfilePage.as_view(), name="profile"),
    path("profile/theme", set_theme.as_view(), name="profile-theme"),
    path("profile/sessions", end_other_sessions.as_view(), name="profile-sessions"),
    path("profile/tokens", create_token.as_view(), name="profile-tokens"),
    path("profile/tokens/<uuid:token_id>/revoke", revoke_token.as_view(), name="profile-token-revocation"),
    path("password/change", ChangePassword.as_view(), name="password-change"),
    path("password/reset", RequestReset.as_view(extra_context=_MAIL), name="password-reset"),
    path("password/reset/asked", ResetRequested.as_view(extra_context=_MAIL), name="password-reset-asked"),
    path("password/reset/form", SetPassword.as_view(), name="password-reset-form"),
    path("password/reset/<slug:uid>/<slug:token>", _RESET_LINK, name="password-reset-link"),
    path("invitations/<slug:secret>", _INVITATION_LINK, name="invitation-link"),
    path("invitation", InvitationPage.as_view(), name="invitation"),
    # Before the admin's own, which would record nothing in the audit log.
    path("admin/logout/", SignOut.as_view()),
    path("admin/password_change/", RedirectView.as_view(pattern_name="password-change")),
]
