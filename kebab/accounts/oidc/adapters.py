"""allauth's adapters: the configured provider, the accounts that may sign in through it, the error pages."""

import logging
from contextvars import ContextVar
from typing import Any, Final, NoReturn
from urllib.parse import urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialLogin
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme

from kebab.accounts import audit
from kebab.accounts.oidc.provider import PROVIDER_ID, oidc_is_configured
from kebab.accounts.sign_in import sign_in
from kebab.http.rate_limits.client_address import client_network
from kebab.http_client.requests_session import LimitedSession
from kebab.identity.models import User
from kebab.identity.models.user import normalize_email
from kebab.people.invitations import is_invited

logger = logging.getLogger(__name__)

#: The end of the current sign-in's exchanges with the provider, by the monotonic clock.
exchanges_end_at: ContextVar[float] = ContextVar("kebab_oidc_exchanges_end_at")
_MAX_ANSWER_BYTES: Final = 256 * 1024


class AccountAdapter(DefaultAccountAdapter):
    """Signs in as password sign-in does; allauth's own sign-up, mails and messages are never used."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return False: sign-up is disabled."""
        return False

    def is_safe_url(self, url: str | None) -> bool:
        """Return whether `url` stays on the site."""
        request = self.request
        return url_has_allowed_host_and_scheme(url, {request.get_host()}, require_https=request.is_secure())

    def login(self, request: HttpRequest, user: Any) -> None:
        """Sign the user in."""
        sign_in(request, user, by="oidc")

    def respond_user_inactive(self, request: HttpRequest, user: Any) -> HttpResponse:
        """Return the error page for a deactivated user."""
        return refuse_sign_in(request, user.email, "inactive")

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return the network of the client's address."""
        return client_network(request)

    def add_message(self, *args: Any, **kwargs: Any) -> None:
        """Drop allauth's messages."""


class ProviderAdapter(DefaultSocialAccountAdapter):
    """Offers the configured provider, and matches its users to accounts by verified e-mail address."""

    def list_apps(
        self, request: HttpRequest, provider: str | None = None, client_id: str | None = None
    ) -> list[SocialApp]:
        """Return the configured provider as allauth's app; none is stored in the database."""
        return [_app()] if oidc_is_configured() else []

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """Return False: `pre_social_login` creates the accounts that are allowed."""
        return False

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Find or create the user's account. Raises ImmediateHttpResponse with an error page."""
        if sociallogin.is_existing:
            return
        email = _verified_email(sociallogin)
        if email is None:
            raise ImmediateHttpResponse(refuse_sign_in(request, _claimed_email(sociallogin), "unverified"))
        with transaction.atomic():
            user = _find_or_create_user(email, sociallogin)
            sociallogin.lookup()
            if sociallogin.is_existing:  # a concurrent sign-in of the same user has linked them
                return
            if user is not None and _is_linked(user):
                user = None
            if user is not None and user.is_active:
                _link(request, user, sociallogin)
                return
        raise ImmediateHttpResponse(refuse_sign_in(request, email, "unknown" if user is None else "inactive"))

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: Any,
        error: Any = None,
        exception: Exception | None = None,
        extra_context: dict[str, Any] | None = None,
    ) -> NoReturn:
        """Raise ImmediateHttpResponse with the error page."""
        if exception is not None:
            logger.warning("no sign-in through the provider: %s", type(exception).__name__)
        raise ImmediateHttpResponse(render_failed_sign_in(request))

    def get_requests_session(self) -> LimitedSession:
        """Return a session whose requests end with the time for all exchanges of the sign-in.

        The provider may be private, as the operator has named it; what else it names may not.
        """
        host = str(urlsplit(settings.KEBAB_OIDC_ISSUER).hostname)
        return LimitedSession(
            ends_at=exchanges_end_at.get(),
            limit_bytes=_MAX_ANSWER_BYTES,
            private_hosts=settings.KEBAB_PRIVATE_HOSTS | {host},
        )


def links_of(user: User) -> QuerySet[SocialAccount]:
    """Return the links of `user` to users of the provider, of former issuers too."""
    return SocialAccount.objects.filter(user=user, provider=PROVIDER_ID)


def refuse_sign_in(request: HttpRequest, email: str, why: str) -> HttpResponse:
    """Record that Kebab refused a user of the provider, and return the error page."""
    audit.record_failed_sign_in(email, by="oidc", why=why)
    return render(request, "accounts/oidc_refused.html", {"email": email, "why": why}, status=403)


def render_failed_sign_in(request: HttpRequest, status: int = 400) -> HttpResponse:
    """Return the error page for a sign-in that the provider or the person aborted."""
    context = {"provider": settings.KEBAB_OIDC_NAME, "status": status}
    return render(request, "accounts/oidc_failed.html", context, status=status)


def _app() -> SocialApp:
    return SocialApp(
        provider="openid_connect",
        provider_id=PROVIDER_ID,
        name=settings.KEBAB_OIDC_NAME,
        client_id=settings.KEBAB_OIDC_CLIENT_ID,
        secret=settings.KEBAB_OIDC_CLIENT_SECRET,
        settings={"server_url": settings.KEBAB_OIDC_ISSUER, "oauth_pkce_enabled": True},
    )


def _claimed_email(sociallogin: SocialLogin) -> str:
    return next((address.email for address in sociallogin.email_addresses), "unnamed")


def _verified_email(sociallogin: SocialLogin) -> str | None:
    """Return the address that the provider has verified; some send that claim as a string."""
    for address in sociallogin.email_addresses:
        if address.verified is True or address.verified == "true":
            return normalize_email(address.email)
    return None


def _find_or_create_user(email: str, sociallogin: SocialLogin) -> User | None:
    """Return the account with this address, locked, so that concurrent sign-ins link it one after the other.

    It is created if the address is invited; accepting the invitation then makes it a member.
    """
    people = User.objects.with_address(email).select_for_update(no_key=True)
    user = people.first()
    if user is not None or not (settings.KEBAB_OIDC_SIGNUP or is_invited(email)):
        return user
    try:
        with transaction.atomic():
            user = User.objects.create_user(
                email, display_name=_display_name(sociallogin), proved_email=email
            )
    except IntegrityError:  # created in the meantime
        return people.first()
    audit.record(user, "account.created", by="oidc")
    return user


def _is_linked(user: User) -> bool:
    """Return whether another user of the current issuer is linked: the address has changed hands.

    A link to another issuer doesn't count: nobody can sign in through it.
    """
    return links_of(user).filter(extra_data__iss=settings.KEBAB_OIDC_ISSUER).exists()


def _link(request: HttpRequest, user: User, sociallogin: SocialLogin) -> None:
    """Link the account; without a proved address its password is disabled and its sessions end."""
    password_ended = not user.has_proved_email and user.has_usable_password()
    if password_ended:
        user.set_unusable_password()  # which ends the sessions started with it
        user.save(update_fields=["password"])
    user.prove_email()
    sociallogin.connect(request, user)
    audit.record(user, "account.linked", issuer=settings.KEBAB_OIDC_ISSUER, password_ended=password_ended)


def _display_name(sociallogin: SocialLogin) -> str:
    user: Any = sociallogin.user
    return f"{user.first_name} {user.last_name}".strip()[:200]
