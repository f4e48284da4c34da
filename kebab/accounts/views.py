"""The account pages: signing in and out, and passwords."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.mixins import LoginRequiredMixin
from django.contrib.auth.views import LoginView
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.generic import FormView, TemplateView

from kebab.accounts import audit
from kebab.accounts.forms import AskResetForm, ChangePasswordForm, NewPasswordForm, SignInForm
from kebab.accounts.oidc.provider import oidc_is_configured
from kebab.accounts.password_reset import mail_link_later, user_of_link
from kebab.accounts.secret_links import forget_link, held_secret, link_gone
from kebab.accounts.sign_in import sign_in, sign_out
from kebab.http.rate_limits.rules import count_mail, may_mail
from kebab.http.site_address import site_address
from kebab.people.models import User

RESET_COOKIE = "kebab_reset"


@method_decorator([sensitive_post_parameters(), never_cache], name="dispatch")
class SignIn(LoginView):
    """E-mail address and password, for pages and admin alike."""

    form_class = SignInForm
    template_name = "accounts/sign_in.html"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer; who has signed in is sent on."""
        if request.user.is_authenticated:
            return redirect(self.get_success_url())
        return super().dispatch(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        """Sign in and go where the person wanted to."""
        place = self.get_success_url()
        sign_in(self.request, form.get_user(), by="password")
        return redirect(place)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Return the form, and the provider's name when there is one."""
        provider = settings.KEBAB_OIDC_NAME if oidc_is_configured() else None
        return super().get_context_data(provider=provider, **kwargs)


@method_decorator(never_cache, name="dispatch")
class SignOut(View):
    """Ends the session."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest) -> HttpResponse:
        """End it, and show the way in again."""
        sign_out(request)
        messages.info(request, "You have signed out.")
        return redirect("login")


class AskReset(FormView):
    """Asks for the address whose password was forgotten."""

    form_class = AskResetForm
    template_name = "accounts/ask_reset.html"
    success_url = reverse_lazy("password-reset-asked")

    def form_valid(self, form: AskResetForm) -> HttpResponse:
        """Do and say the same whether or not there is such an account. Raises RateLimited."""
        email, site = form.cleaned_data["email"], site_address(self.request)
        count_mail(self.request)
        audit.record_reset_request(email)
        if may_mail(email):
            mail_link_later(email, site)
        return super().form_valid(form)


class ResetAsked(TemplateView):
    """Says that a link is on its way, if there is such an account."""

    template_name = "accounts/reset_asked.html"


@method_decorator([sensitive_post_parameters(), never_cache], name="dispatch")
class SetPassword(View):
    """Sets a new password for whoever holds the link."""

    http_method_names = ("get", "head", "post")

    def get(self, request: HttpRequest) -> HttpResponse:
        """Return the form, or the page for a link that is no good."""
        user = _holder(request)
        return (
            link_gone(request, "password-reset")
            if user is None
            else self._form(request, NewPasswordForm(user))
        )

    def post(self, request: HttpRequest) -> HttpResponse:
        """Set it, which ends all sessions of the person; they sign in with it next."""
        user = _holder(request)
        if user is None:
            return link_gone(request, "password-reset")
        form = NewPasswordForm(user, request.POST)
        if not form.is_valid():
            return self._form(request, form)
        with transaction.atomic():
            form.save()
            user.prove_email()  # the link came to it
            audit.record_password_change(user, by="reset")
        messages.info(request, "Your new password is set. Log in with it.")
        return forget_link(redirect("login"), RESET_COOKIE, "password-reset-form")

    def _form(self, request: HttpRequest, form: NewPasswordForm) -> HttpResponse:
        return render(request, "accounts/set_password.html", {"form": form})


@method_decorator([sensitive_post_parameters(), never_cache], name="dispatch")
class ChangePassword(LoginRequiredMixin, FormView):
    """Changes the password of who has signed in."""

    form_class = ChangePasswordForm
    template_name = "accounts/change_password.html"
    success_url = reverse_lazy("password-change")

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer; who has no password, because a provider signs them in, has none to change."""
        if request.user.is_authenticated and not request.user.has_usable_password():
            return redirect("home")
        return super().dispatch(request, *args, **kwargs)

    def get_form_kwargs(self) -> dict[str, Any]:
        """Return the form its person."""
        return {**super().get_form_kwargs(), "user": self.request.user, "request": self.request}

    def form_valid(self, form: ChangePasswordForm) -> HttpResponse:
        """Set it: this session goes on under a new key, all others of the person end."""
        with transaction.atomic():
            user = form.save()
            update_session_auth_hash(self.request, user)
            audit.record_password_change(user, by="themselves")
        messages.info(
            self.request,
            "Your password is changed. Here you stay logged in; elsewhere you have to log in with it.",
        )
        return redirect(self.get_success_url())


def _holder(request: HttpRequest) -> User | None:
    uid, _, token = held_secret(request, RESET_COOKIE).partition(".")
    return user_of_link(uid, token)
