"""The account pages: signing in and out, passwords, and accepting an invitation."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.mixins import LoginRequiredMixin
from django.contrib.auth.views import LoginView
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.generic import FormView, TemplateView

from kebab.accounts import audit
from kebab.accounts.forms import ChangePasswordForm, JoinForm, NewPasswordForm, ResetRequestForm, SignInForm
from kebab.accounts.oidc import oidc_is_configured
from kebab.accounts.secret_links import (
    forget_link,
    queue_reset_mail,
    read_link_secret,
    render_link_gone,
    user_of_link,
)
from kebab.accounts.sign_in import sign_in, sign_out
from kebab.errors import Conflict, NotFound
from kebab.http.rate_limits.rules import count_mail, count_mail_to
from kebab.http.site_address import site_address
from kebab.identity.models import Invitation, User
from kebab.identity.operator_token import OPERATOR_PREFIX
from kebab.people.invitations import (
    accept_as_new_user,
    accept_invitation,
    find_invitation,
    needs_account,
)

RESET_COOKIE = "kebab_reset"


@method_decorator([sensitive_post_parameters(), never_cache], name="dispatch")
class SignIn(LoginView):
    """E-mail address and password, for pages and admin alike."""

    form_class = SignInForm
    template_name = "accounts/sign_in.html"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Dispatch; a signed-in user is redirected."""
        if request.user.is_authenticated:
            return HttpResponseRedirect(self.get_success_url())
        return super().dispatch(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        """Sign in and redirect to the requested page."""
        place = self.get_success_url()
        sign_in(self.request, form.get_user(), by="password")
        return HttpResponseRedirect(place)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add the provider's name if one is configured."""
        provider = settings.KEBAB_OIDC_NAME if oidc_is_configured() else None
        return super().get_context_data(provider=provider, **kwargs)


@method_decorator(never_cache, name="dispatch")
class SignOut(View):
    """Ends the session."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest) -> HttpResponse:
        """End the session and redirect to the login page."""
        sign_out(request)
        messages.info(request, _("You are logged out"))
        return redirect("login")


class RequestReset(FormView):  # type: ignore[type-arg]  # the class itself is not generic
    """Asks for the e-mail address of the forgotten password."""

    form_class = ResetRequestForm
    template_name = "accounts/ask_reset.html"
    success_url = reverse_lazy("password-reset-asked")

    def form_valid(self, form: ResetRequestForm) -> HttpResponse:
        """Queue the mail; the response is the same whether or not the account exists. Raises RateLimited."""
        email, site = form.cleaned_data["email"], site_address(self.request)
        count_mail(self.request)
        audit.record_reset_request(email)
        if count_mail_to(email):
            queue_reset_mail(email, site)
        return super().form_valid(form)


class ResetRequested(TemplateView):
    """Confirms that a link was sent, if the account exists."""

    template_name = "accounts/reset_asked.html"


@method_decorator([sensitive_post_parameters(), never_cache], name="dispatch")
class SetPassword(View):
    """Sets a new password for whoever holds the link."""

    http_method_names = ("get", "head", "post")

    def get(self, request: HttpRequest) -> HttpResponse:
        """Return the form, or the page for an invalid link."""
        user = _link_user(request)
        return (
            render_link_gone(request, "password-reset")
            if user is None
            else self._render_form(request, NewPasswordForm(user))
        )

    def post(self, request: HttpRequest) -> HttpResponse:
        """Set the password, which ends all sessions of the user, and redirect to the login page."""
        user = _link_user(request)
        if user is None:
            return render_link_gone(request, "password-reset")
        form = NewPasswordForm(user, request.POST)
        if not form.is_valid():
            return self._render_form(request, form)
        with transaction.atomic():
            form.save()
            user.prove_email()  # the link was mailed to it
            audit.record(user, "password.changed", by="reset")
        messages.info(request, _("Password set. Log in with it."))
        return forget_link(redirect("login"), RESET_COOKIE, "password-reset-form")

    def _render_form(self, request: HttpRequest, form: NewPasswordForm) -> HttpResponse:
        return render(request, "accounts/set_password.html", {"form": form})


@method_decorator([sensitive_post_parameters(), never_cache], name="dispatch")
class ChangePassword(LoginRequiredMixin, FormView):  # type: ignore[type-arg]  # the class itself is not generic
    """Changes the password of the signed-in user."""

    form_class = ChangePasswordForm
    template_name = "accounts/change_password.html"
    success_url = reverse_lazy("password-change")

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Dispatch; users without a password, who sign in through the provider, are redirected."""
        if request.user.is_authenticated and not request.user.has_usable_password():
            return redirect("home")
        return super().dispatch(request, *args, **kwargs)

    def get_form_kwargs(self) -> dict[str, Any]:
        """Add the user and the request to the form's arguments."""
        return {**super().get_form_kwargs(), "user": self.request.user, "request": self.request}

    def form_valid(self, form: ChangePasswordForm) -> HttpResponse:
        """Set the password: this session continues under a new key, the user's other sessions end."""
        with transaction.atomic():
            user = form.save()
            update_session_auth_hash(self.request, user)
            audit.record(user, "password.changed", by="themselves")
        messages.info(self.request, _("Password changed. You are logged out on other devices."))
        return redirect(self.get_success_url())


def _link_user(request: HttpRequest) -> User | None:
    uid, _, token = read_link_secret(request, RESET_COOKIE).partition(".")
    return user_of_link(uid, token)


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
