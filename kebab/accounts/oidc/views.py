"""The two addresses of signing in through a provider: the way there, and the way back."""

import logging
from typing import Any, Final

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.providers.base import AuthProcess
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.cache import never_cache
from requests import RequestException

from kebab.accounts.oidc.adapters import failed
from kebab.accounts.oidc.provider import PROVIDER_ID, CheckedProvider, oidc_is_configured
from kebab.accounts.redirects import next_place

logger = logging.getLogger(__name__)

# What comes of answers that are no JSON, or lack what they must have.
_NO_PROVIDER: Final = (RequestException, OAuth2Error, KeyError, ValueError, TypeError, AttributeError)


class _ProviderView(View):
    http_method_names = ("get",)

    @method_decorator(never_cache)
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Answer; a provider that can't be reached or understood gets a page of ours."""
        if not oidc_is_configured():
            raise Http404
        try:
            return super().dispatch(request, *args, **kwargs)  # type: ignore[return-value]
        except ImmediateHttpResponse as answer:
            return answer.response
        except _NO_PROVIDER as error:
            logger.warning("the OpenID Connect provider can't be used: %s", type(error).__name__)
            return failed(request, status=502)


class ToProvider(_ProviderView):
    """Sends the person to the provider."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Redirect; a click on another site doesn't begin a sign-in here."""
        if request.headers.get("Sec-Fetch-Site") == "cross-site":
            return redirect("login")
        provider = get_adapter(request).get_provider(request, PROVIDER_ID)
        next_url = next_place(request)
        return provider.redirect(request, AuthProcess.LOGIN, next_url=next_url)  # type: ignore[no-any-return]


class FromProvider(_ProviderView):
    """Takes the person back, with a code that the provider exchanges for who they are."""

    def get(self, request: HttpRequest, provider_id: str) -> HttpResponse:
        """Sign in, or tell why not."""
        if provider_id != PROVIDER_ID:
            raise Http404
        view = OAuth2CallbackView.adapter_view(CheckedProvider(request, PROVIDER_ID))
        return view(request)  # type: ignore[no-any-return]
