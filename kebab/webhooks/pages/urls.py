"""URLs of the pages of webhooks."""

from django.urls import path

from kebab.webhooks.pages.views import (
    WebhooksPage,
    delete_webhook,
    switch_webhook,
    test_webhook,
    webhook_page,
)

_WEBHOOKS = "w/<str:slug>/webhooks"
_WEBHOOK = f"{_WEBHOOKS}/<uuid:webhook_id>"

urlpatterns = [
    path(_WEBHOOKS, WebhooksPage.as_view(), name="webhooks"),
    path(_WEBHOOK, webhook_page.as_view(), name="webhook"),
    path(f"{_WEBHOOK}/switch", switch_webhook.as_view(), name="webhook-switch"),
    path(f"{_WEBHOOK}/test", test_webhook.as_view(), name="webhook-test"),
    path(f"{_WEBHOOK}/delete", delete_webhook.as_view(), name="webhook-deletion"),
]
