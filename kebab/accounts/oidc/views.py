"""The two views of signing in through a provider: the redirect to it, and its callback."""

import logging
import time
from typing import Any, Final

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.providers.base import AuthProcess
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.views import View
from django.views.decorators.cache import never_cache
from requests import RequestException

from kebab.accounts.oidc.adapters import exchanges_end_at, render_failed_sign_in
from kebab.accounts.oidc.provider import PROVIDER_ID, CheckedProvider, oidc_is_configured

logger = logging.getLogger(__name__)

# Raised for responses that are no JSON, or lack required fields.
_NO_PROVIDER: Final = (
    *(RequestException, OAuth2Error, KeyError, ValueError, TypeError, AttributeError),
    RecursionError,  # for JSON that is nested deeply
)
# A web thread waits as long for the provider, however many answers it takes.
_EXCHANGES_LIMIT_S: Final = 3.0


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
