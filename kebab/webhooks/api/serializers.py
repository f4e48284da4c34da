"""Serializers of webhooks and their deliveries."""

from typing import Any

from rest_framework import serializers

from kebab.http.api.fields import ShortListField
from kebab.http.api.pagination import PageQuery
from kebab.http.api.serializers import StrictSerializer
from kebab.webhooks.models import DeliveryState, Endpoint, EventType


def _events_field(**options: Any) -> ShortListField:
    choice = serializers.ChoiceField(choices=EventType.values)
    return ShortListField(child=choice, min_length=1, max_length=len(EventType), **options)


class NewWebhook(StrictSerializer):
    """The body that creates a webhook."""

    # Its form is checked with its host, for a message with the remedy.
    url = serializers.CharField(help_text="With https. A private address needs KEBAB_PRIVATE_HOSTS.")
    events = _events_field()
    description = serializers.CharField(max_length=200, allow_blank=True, default="")


class WebhookChanges(StrictSerializer):
    """The body that changes a webhook."""

    url = serializers.CharField(required=False)
    events = _events_field(required=False)
    description = serializers.CharField(max_length=200, allow_blank=True, required=False)
    is_enabled = serializers.BooleanField(required=False)


class WebhookSerializer(serializers.Serializer[Endpoint]):
    """A webhook, without its secret."""

    id = serializers.UUIDField()
    url = serializers.CharField()
    events = serializers.ListField(child=serializers.ChoiceField(choices=EventType.values))
    description = serializers.CharField()
    created_at = serializers.DateTimeField()
    is_enabled = serializers.SerializerMethodField()
    disabled_because = serializers.CharField(help_text="Empty unless Kebab has disabled it.")
    failing_since = serializers.DateTimeField(
        allow_null=True, help_text="The first failure since its last successful delivery."
    )

    def get_is_enabled(self, endpoint: Endpoint) -> bool:
        """Return whether it receives events."""
        return endpoint.disabled_at is None


class WebhookWithSecretSerializer(WebhookSerializer):
    """A new webhook with the secret that signs its deliveries."""

    secret = serializers.CharField(help_text="For any library of Standard Webhooks.")


class DeliveryQuery(PageQuery):
    """The parameters of the list of deliveries."""

    state = serializers.ChoiceField(choices=DeliveryState.values, required=False)


class DeliverySerializer(serializers.Serializer[Any]):
    """A delivery."""

    id = serializers.CharField(source="message_id", help_text="The header `webhook-id`.")
    type = serializers.CharField()
    state = serializers.ChoiceField(choices=DeliveryState.values)
    body = serializers.CharField()
    created_at = serializers.DateTimeField()
    attempts = serializers.IntegerField()
    attempted_at = serializers.DateTimeField(allow_null=True)
    due_at = serializers.DateTimeField(help_text="Of a pending one: when it is sent next.")
    status = serializers.IntegerField(allow_null=True, help_text="Of the answer that refused it.")
    error = serializers.CharField()


class SentTestSerializer(serializers.Serializer[Any]):
    """A test event that is on its way."""

    id = serializers.CharField(help_text="The header `webhook-id`.")
