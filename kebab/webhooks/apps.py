"""The app of webhooks."""

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    """Endpoints, the outbox of their events, and the log of deliveries."""

    name = "kebab.webhooks"
    label = "webhooks"
