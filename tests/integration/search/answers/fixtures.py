"""Fixtures that configure a stub or an address as the model of one test."""

from contextlib import ExitStack

import pytest

from tests.integration.search.answers.stub import serving_model
from tests.support.runtime import renew_runtime


@pytest.fixture
def use(settings):
    """Return a function that makes a stub with a behaviour the model of one test, and returns the stub."""
    with ExitStack() as stack:

        def set_(behaviour, **options):
            stub = stack.enter_context(serving_model(behaviour))
            use_url(settings, stub.url, **options)
            return stub

        yield set_
        renew_runtime()


@pytest.fixture
def use_model_at(settings):
    """Return a function that makes the server at a URL the model of one test."""
    yield lambda url, **options: use_url(settings, url, **options)
    renew_runtime()


def use_url(settings, url, *, limit_s=50, model="parrot", key="", streams=True, context_tokens=8_192):
    settings.KEBAB_ANSWER_URL = url
    settings.KEBAB_ANSWER_MODEL = model
    settings.KEBAB_ANSWER_API_KEY = key
    settings.KEBAB_ANSWER_LIMIT_S = limit_s
    settings.KEBAB_ANSWER_STREAM = streams
    settings.KEBAB_ANSWER_CONTEXT_TOKENS = context_tokens
    renew_runtime()
