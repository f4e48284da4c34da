"""What is limited, by whose name it is counted, and what is said to who has reached the limit."""

import hashlib
from dataclasses import dataclass
from functools import cache

from django.conf import settings
from django.http import HttpRequest
from limits import RateLimitItem, parse

from kebab.http.api.errors import RateLimited
from kebab.http.rate_limits.client_address import client_network
from kebab.http.rate_limits.limiter import limiter

# What a request says of itself that has been counted; no header can become this.
_COUNTED = "kebab.counted"


def is_counted(request: HttpRequest) -> bool:
    """Return whether the request has been counted under anybody."""
    return _COUNTED in request.META


def count_request(request: HttpRequest, name: str) -> None:
    """Count a request of a caller, whose name no other has, unless it has been. Raises RateLimited."""
    if is_counted(request):
        return
    request.META[_COUNTED] = True
    count(written(settings.KEBAB_RATE_LIMIT), "requests", name, said="You ask too often.")


def count_bad_token(request: HttpRequest) -> None:
    """Count a token that was refused against the address it came from. Raises RateLimited.

    It is called after a token has failed, so that a good one is taken from any address at any time.
    """
    request.META[_COUNTED] = True
    limit = written(settings.KEBAB_BAD_TOKEN_LIMIT)
    said = "Too many unknown, expired or revoked tokens came from this address."
    count(limit, "bad-tokens", client_network(request), said=said)


def count_mail(request: HttpRequest) -> None:
    """Count what makes Kebab write an e-mail against the address that asks for it. Raises RateLimited."""
    limit = written(settings.KEBAB_MAIL_LIMITS["address"])
    count(limit, "mails", client_network(request), said="Too many e-mails were asked for from this address.")


def may_mail(email: str) -> bool:
    """Count an e-mail to `email`; whether it is one that may still be sent."""
    return limiter().hit(written(settings.KEBAB_MAIL_LIMITS["account"]), "mails-to", fingerprint(email))


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInAttempt:
    """One try to sign in as `email`, whether or not there is such an account.

    Failures count for an address of the network, and for an account from there; never for an account alone,
    which would let anybody lock its owner out.
    """

    request: HttpRequest
    email: str

    def count(self) -> None:
        """Count it before the password is looked at, so that many at once are no more than one by one.

        Raises RateLimited when too many before this one have failed.
        """
        for limit, name in self._counted():
            count(limit, *name, said="Too many attempts to sign in from here have failed.")

    def succeeded(self) -> None:
        """Take it back, and forget the failures of this account from this address: they were its owner's."""
        (account_limit, account_name), (address_limit, address_name) = self._counted()
        limiter().forget(account_limit, *account_name)
        limiter().take_back(address_limit, *address_name)

    def _counted(self) -> tuple[tuple[RateLimitItem, tuple[str, ...]], ...]:
        network = client_network(self.request)
        limits = settings.KEBAB_SIGN_IN_LIMITS
        return (
            (written(limits["account"]), ("sign-ins", network, fingerprint(self.email))),
            (written(limits["address"]), ("sign-ins", network)),
        )


def count(limit: RateLimitItem, *name: str, said: str) -> None:
    """Count one more under `name`. Raises RateLimited, which begins with `said`."""
    if not limiter().hit(limit, *name):
        raise _refusal(limit, name, said)


def check_room(limit: RateLimitItem, *name: str, said: str) -> None:
    """Raises RateLimited, which begins with `said`, when one more under `name` would not be counted."""
    if not limiter().has_room(limit, *name):
        raise _refusal(limit, name, said)


def _refusal(limit: RateLimitItem, name: tuple[str, ...], said: str) -> RateLimited:
    retry_after_s = limiter().retry_after_s(limit, *name)
    return RateLimited(f"{said} Try again in {_in_words(retry_after_s)}.", retry_after_s=retry_after_s)


def _in_words(seconds: int) -> str:
    count, unit = (seconds, "second") if seconds < 90 else (-(-seconds // 60), "minute")
    return f"{count} {unit}{'' if count == 1 else 's'}"


def fingerprint(email: str) -> str:
    """Stand for an e-mail address, which Redis needn't know."""
    return hashlib.sha256(email.strip().lower().encode(errors="surrogatepass")).hexdigest()


@cache
def written(limit: str) -> RateLimitItem:
    """Return the limit that a text like `100/minute` stands for."""
    return parse(limit)
