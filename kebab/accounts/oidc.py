"""Sign-in through the OpenID Connect provider of `KEBAB_OIDC_*`, by django-allauth.

allauth speaks the protocol and stores the links to accounts; passwords, sessions, limits and pages are
Kebab's own. Here are the provider with the verification of its ID tokens, allauth's adapters (the accounts
that may sign in, the error pages), and the two views: the redirect to the provider, and its callback.
"""

import hashlib
import logging
import time
from contextvars import ContextVar
from typing import Any, Final, NoReturn
from urllib.parse import urlsplit

import jwt
from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter, get_adapter
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialLogin
from allauth.socialaccount.providers.base import AuthProcess
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.views import View
from django.views.decorators.cache import never_cache
from requests import RequestException

from kebab.accounts import audit
from kebab.accounts.sign_in import sign_in
from kebab.http.rate_limits.client_address import client_network
from kebab.http_client.requests_session import LimitedSession
from kebab.identity.models import User
from kebab.identity.models.user import normalize_email
from kebab.people.invitations import is_invited

logger = logging.getLogger(__name__)

#: Part of the callback URL, which is registered with the provider.
PROVIDER_ID: Final = "oidc"
# Asymmetric ones only: with a shared secret every holder of it could sign as the provider.
_ALGORITHMS: Final = [*(f"{kind}{bits}" for kind in ("RS", "PS", "ES") for bits in (256, 384, 512)), "EdDSA"]
_CLOCK_SKEW_S: Final = 60
#: The end of the current sign-in's exchanges with the provider, by the monotonic clock.
exchanges_end_at: ContextVar[float] = ContextVar("kebab_oidc_exchanges_end_at")
_MAX_ANSWER_BYTES: Final = 256 * 1024
# Raised for responses that are no JSON, or lack required fields.
_NO_PROVIDER: Final = (
    *(RequestException, OAuth2Error, KeyError, ValueError, TypeError, AttributeError),
    RecursionError,  # for JSON that is nested deeply
)
# A web thread waits as long for the provider, however many answers it takes.
_EXCHANGES_LIMIT_S: Final = 3.0


def oidc_is_configured() -> bool:
    """Return whether `KEBAB_OIDC_*` name a provider."""
    return bool(settings.KEBAB_OIDC_ISSUER)


class CheckedProvider(OpenIDConnectOAuth2Adapter):
    """Takes a user's claims from the ID token alone, after checking its signature.

    allauth itself would accept unsigned tokens, and prefer the claims of the user-info endpoint.
    """

    def complete_login(self, request: HttpRequest, app: Any, token: Any, **kwargs: Any) -> SocialLogin:
        """Return the sign-in. Raises OAuth2Error for claims that can't be verified."""
        claims = self._verify_claims(app, kwargs["response"].get("id_token"))
        if "email" not in claims:
            claims = {**self._fetch_user_info_claims(token.token, claims["sub"]), **claims}
        login: SocialLogin = self.get_provider().sociallogin_from_response(request, {"id_token": claims})
        # A subject is unique only within its issuer, and the configured issuer may change.
        login.account.uid = hashlib.sha256(f"{claims['iss']} {claims['sub']}".encode()).hexdigest()
        login.account.extra_data = {"iss": settings.KEBAB_OIDC_ISSUER}  # nothing else is needed again
        return login

    def _verify_claims(self, app: Any, id_token: str | None) -> dict[str, Any]:
        if not id_token:
            raise OAuth2Error("The provider sent no id_token.")
        issuer = self.openid_config["issuer"]
        if issuer.rstrip("/") != settings.KEBAB_OIDC_ISSUER:
            raise OAuth2Error(f"The provider calls itself {issuer!r}, not {settings.KEBAB_OIDC_ISSUER!r}.")
        try:
            return jwt.decode(
                id_token,
                key=self._fetch_key(id_token),
                algorithms=_ALGORITHMS,
                audience=app.client_id,
                issuer=issuer,
                leeway=_CLOCK_SKEW_S,
                options={"require": ["exp", "iat", "iss", "aud", "sub"]},
            )
        except jwt.PyJWTError as error:
            raise OAuth2Error(f"The id_token can't be believed: {type(error).__name__}.") from error

    def _fetch_key(self, id_token: str) -> Any:
        """Return the key that the token names; without a name there must be exactly one key."""
        with get_adapter().get_requests_session() as session:
            answer = session.get(self.openid_config["jwks_uri"])
            answer.raise_for_status()
            keys = jwt.PyJWKSet.from_dict(answer.json()).keys
        kid = jwt.get_unverified_header(id_token).get("kid")
        matching = [key for key in keys if kid is None or key.key_id == kid]
        if len(matching) != 1:
            raise OAuth2Error(f"The provider publishes {len(matching)} keys named {kid!r}.")
        return matching[0]

    def _fetch_user_info_claims(self, access_token: str, subject: str) -> dict[str, Any]:
        claims: dict[str, Any] = self._fetch_user_info(access_token)
        if claims.get("sub") != subject:
            raise OAuth2Error("The user-info endpoint speaks of somebody else than the id_token.")
        return claims


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
            claimed = next((address.email for address in sociallogin.email_addresses), "unnamed")
            raise ImmediateHttpResponse(refuse_sign_in(request, claimed, "unverified"))
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


class _ProviderView(View):
    http_method_names = ("get",)

    @method_decorator(never_cache)
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Dispatch; an unreachable or misbehaving provider becomes an error page."""
        if not oidc_is_configured():
            raise Http404
        exchanges_end_at.set(time.monotonic() + _EXCHANGES_LIMIT_S)
        try:
            return super().dispatch(request, *args, **kwargs)
        except ImmediateHttpResponse as answer:
            response: HttpResponse = answer.response
            return response
        except _NO_PROVIDER as error:
            logger.warning("the OpenID Connect provider can't be used: %s", type(error).__name__)
            return render_failed_sign_in(request, status=502)


class ProviderRedirect(_ProviderView):
    """Sends the person to the provider."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Redirect to the provider; a link on another site can't start a sign-in."""
        if request.headers.get("Sec-Fetch-Site") == "cross-site":
            return redirect("login")
        provider = get_adapter(request).get_provider(request, PROVIDER_ID)
        next_url = safe_next_url(request)
        response: HttpResponse = provider.redirect(request, AuthProcess.LOGIN, next_url=next_url)
        return response


class ProviderCallback(_ProviderView):
    """Receives the person from the provider, with a code that is exchanged for their identity."""

    def get(self, request: HttpRequest, provider_id: str) -> HttpResponse:
        """Sign the person in, or return an error page."""
        if provider_id != PROVIDER_ID:
            raise Http404
        view = OAuth2CallbackView.adapter_view(CheckedProvider(request, PROVIDER_ID))
        response: HttpResponse = view(request)
        return response


def safe_next_url(request: HttpRequest) -> str:
    """Return the parameter `next` if it is a URL of this site; else an empty string."""
    place = request.POST.get("next", request.GET.get("next", ""))
    hosts = {request.get_host()}
    return place if url_has_allowed_host_and_scheme(place, hosts, require_https=request.is_secure()) else ""
