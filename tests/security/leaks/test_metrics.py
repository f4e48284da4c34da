"""Metrics without credentials name no workspace, no source and no document."""

import re

import pytest

from kebab.health.scrape import scraper
from tests.security.leaks.answers import leaks_in

TOKEN = "operators-token"


@pytest.fixture
def text_for(setting, client, settings):
    """Return a function that returns the metrics shown to a caller, after requests of all callers."""

    def ask(authorization):
        scraper.cache_clear()
        with setting.files():
            for caller in setting.callers.values():
                caller.client.get(f"/api/v1/workspaces/{setting.stage.theirs.slug}/sources")
                caller.client.get(f"/w/{setting.stage.ours.slug}/search", {"q": setting.stage.closed.stem})
            return client.get("/metrics", headers={"Authorization": authorization}).content.decode()

    settings.KEBAB_METRICS_TOKEN = TOKEN
    return ask


@pytest.mark.parametrize("authorization", ["", "Bearer", "Bearer ", "Bearer wrong", f"Basic {TOKEN}"])
def test_anonymous_metrics_name_no_workspace(setting, text_for, authorization):
    text = text_for(authorization)

    assert not leaks_in(text, setting.stage.hidden, ())
    assert not leaks_in(text, setting.stage.closed, ())
    assert not re.search(r"workspace=|[0-9a-f]{8}-[0-9a-f]{4}-", text)
    assert setting.stage.ours.slug not in text


def test_metrics_name_no_workspace_without_a_configured_token(setting, text_for, settings):
    settings.KEBAB_METRICS_TOKEN = ""
    assert "workspace=" not in text_for("Bearer ")


@pytest.mark.slow
def test_operator_metrics_name_ids_only(setting, text_for):
    text = text_for(f"Bearer {TOKEN}")

    assert "kebab_mirror_lag_changes" in text
    assert setting.stage.theirs.slug not in text and setting.stage.closed.stem not in text
