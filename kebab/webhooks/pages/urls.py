"""URLs of the pages of webhooks."""

from django.urls import path

from kebab.webhooks.pages.views import WebhookPage, WebhooksPage, WebhookSwitch, WebhookTest, delete_webhook

_WEBHOOKS = "w/<str:slug>/webhooks"
_WEBHOOK = f"{_WEBHOOKS}/<uuid:webhook_id>"

urlpatterns = [
    path(_WEBHOOKS, WebhooksPage.as_view(), name="webhooks"),
    path(_WEBHOOK, WebhookPage.as_view(), name="webhook"),
    path(f"{_WEBHOOK}/switch", WebhookSwitch.as_view(), name="webhook-switch"),
    path(f"{_WEBHOOK}/test", WebhookTest.as_view(), name="webhook-test"),
    path(f"{_WEBHOOK}/delete", delete_webhook.as_view(), name="webhook-deletion"),
]
