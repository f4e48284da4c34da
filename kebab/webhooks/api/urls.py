"""API URLs of webhooks, below `/api/v1/`."""

from kebab.http.api.urls import below_workspace
from kebab.webhooks.api.views import OneWebhookView, WebhookDeliveriesView, WebhooksView, WebhookTestView

_WEBHOOK = "/webhooks/<uuid:webhook_id>"

urlpatterns = [
    below_workspace("/webhooks", WebhooksView.as_view(), "api-webhooks"),
    below_workspace(_WEBHOOK, OneWebhookView.as_view(), "api-webhook"),
    below_workspace(f"{_WEBHOOK}/test", WebhookTestView.as_view(), "api-webhook-test"),
    below_workspace(f"{_WEBHOOK}/deliveries", WebhookDeliveriesView.as_view(), "api-webhook-deliveries"),
]
