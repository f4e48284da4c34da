"""The page that accepts an invitation, with an existing account or by creating one."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from kebab.accounts.forms import JoinForm
from kebab.accounts.oidc.provider import oidc_is_configured
from kebab.accounts.secret_links import forget_link, read_link_secret, render_link_gone
from kebab.accounts.sign_in import sign_in
from kebab.errors import Conflict, NotFound
from kebab.identity.models import Invitation, User
from kebab.identity.operator_token import OPERATOR_PREFIX
from kebab.people.invitations.lifecycle import (
    accept_as_new_user,
    accept_invitation,
    find_invitation,
    needs_account,
)

INVITATION_COOKIE = "kebab_invitation"


@method_decorator([sensitive_post_parameters(), never_cache], name="dispatch")
class InvitationPage(View):
    """Shows the inviter and the workspace, and accepts the invitation."""

    http_method_names = ("get", "head", "post")

    def get(self, request: HttpRequest) -> HttpResponse:
        """Return the page: a button, a sign-up form or a link to log in, as the person needs."""
        invitation = find_invitation(read_link_secret(request, INVITATION_COOKIE))
        return render_link_gone(request, "invitation") if invitation is None else _page(request, invitation)

    def post(self, request: HttpRequest) -> HttpResponse:
        """Make the person a member; somebody else's account gets the page again."""
        invitation = find_invitation(read_link_secret(request, INVITATION_COOKIE))
        if invitation is None:
            return render_link_gone(request, "invitation")
        try:
            return self._accept(request, invitation)
        except NotFound:  # accepted, withdrawn or expired in the meantime
            return render_link_gone(request, "invitation")
        except Conflict:  # the account was created in the meantime
            return redirect("invitation")

    def _accept(self, request: HttpRequest, invitation: Invitation) -> HttpResponse:
        if isinstance(request.user, User) and _is_theirs(request, invitation):
            accept_invitation(invitation, request.user)
            return _redirect_to_workspace(invitation)
        if request.user.is_authenticated or not needs_account(invitation):
            return _page(request, invitation)
        form = JoinForm(invitation.email, request.POST)
        if not form.is_valid():
            return _page(request, invitation, form)
        cleaned = form.cleaned_data
        name, password = cleaned["display_name"], cleaned["new_password1"]
        membership = accept_as_new_user(invitation, password=password, display_name=name)
        sign_in(request, membership.user, by="invitation")
        return _redirect_to_workspace(invitation)


def _redirect_to_workspace(invitation: Invitation) -> HttpResponse:
    response = redirect("search", invitation.workspace.slug)
    return forget_link(response, INVITATION_COOKIE, "invitation")


def _page(request: HttpRequest, invitation: Invitation, form: JoinForm | None = None) -> HttpResponse:
    context = {
        "invitation": invitation,
        "is_theirs": _is_theirs(request, invitation),
        "needs_account": form is not None or needs_account(invitation),
        "inviter": None if invitation.invited_by.startswith(OPERATOR_PREFIX) else invitation.invited_by,
        "provider": settings.KEBAB_OIDC_NAME if oidc_is_configured() else None,
        "form": form or JoinForm(invitation.email),
    }
    return render(request, "accounts/invitation.html", context)


def _is_theirs(request: HttpRequest, invitation: Invitation) -> bool:
    return isinstance(request.user, User) and request.user.email == invitation.email
