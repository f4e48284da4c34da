"""The OpenID Connect provider: verification of its ID tokens, and the claims they hold."""

import hashlib
from typing import Any, Final

import jwt
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.models import SocialLogin
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.http import HttpRequest

#: Part of the callback URL, which is registered with the provider.
PROVIDER_ID: Final = "oidc"
# Asymmetric ones only: with a shared secret every holder of it could sign as the provider.
_ALGORITHMS: Final = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
)
_CLOCK_SKEW_S: Final = 60


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
                algorithms=list(_ALGORITHMS),
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
