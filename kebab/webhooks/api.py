"""The API of webhooks: `/workspaces/{ws}/webhooks`, their endpoints and deliveries."""

import uuid
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.http.api.idempotency import idempotent
from kebab.http.api.openapi_schema import page_of
from kebab.http.api.serializers import ShortListField, StrictSerializer, strict_body
from kebab.http.api.urls import below_workspace
from kebab.http.api.views import KeysetPage, PageQuery, WorkspaceView
from kebab.identity.caller import ADMINS
from kebab.webhooks.endpoints import (
    change_endpoint,
    create_endpoint,
    delete_endpoint,
    deliveries_of,
    endpoints_of,
    get_endpoint,
    send_test,
)
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


class WebhooksView(WorkspaceView):
    """The webhooks of a workspace."""

    required: ClassVar = {"GET": ADMINS, "POST": ADMINS}
    queries: ClassVar = {"GET": PageQuery}

    @extend_schema(responses=page_of(WebhookSerializer))
    def get(self, request: Request, ws: str) -> Response:
        """List the webhooks, oldest first."""
        page = KeysetPage.from_view(self, ordering=("created_at", "id"))
        return page.response(endpoints_of(self.workspace), lambda row: WebhookSerializer(row).data)

    @extend_schema(request=NewWebhook, responses={201: WebhookWithSecretSerializer})
    @idempotent(recheck=None, withhold=("secret",))
    def post(self, request: Request, ws: str) -> Response:
        """Create a webhook. Its secret is in this answer only."""
        endpoint, secret = create_endpoint(self.access, **strict_body(request, NewWebhook))
        answer = {**WebhookSerializer(endpoint).data, "secret": secret}
        return Response(answer, status=201, headers={"Cache-Control": "no-store"})


class OneWebhookView(WorkspaceView):
    """One webhook of a workspace."""

    required: ClassVar = {"GET": ADMINS, "PATCH": ADMINS, "DELETE": ADMINS}

    @extend_schema(responses=WebhookSerializer)
    def get(self, request: Request, ws: str, webhook_id: uuid.UUID) -> Response:
        """Return the webhook without its secret."""
        return Response(WebhookSerializer(get_endpoint(self.workspace, webhook_id)).data)

    @extend_schema(request=WebhookChanges, responses=WebhookSerializer)
    def patch(self, request: Request, ws: str, webhook_id: uuid.UUID) -> Response:
        """Change, disable or enable the webhook. Once it is disabled nothing is sent.

        Enabled again, it gets what waits, and the events of documents since, of a week at most.
        """
        fields = strict_body(request, WebhookChanges)
        return Response(WebhookSerializer(change_endpoint(self.access, webhook_id, **fields)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, ws: str, webhook_id: uuid.UUID) -> Response:
        """Delete the webhook with its deliveries; nothing is sent after this answer."""
        delete_endpoint(self.access, webhook_id)
        return Response(status=204)


class WebhookTestView(WorkspaceView):
    """The test of a webhook."""

    required: ClassVar = {"POST": ADMINS}
    with_body: ClassVar = ()

    @extend_schema(request=None, responses={202: SentTestSerializer})
    def post(self, request: Request, ws: str, webhook_id: uuid.UUID) -> Response:
        """Send a test event, of the type `webhook.test`; the list of deliveries has its outcome."""
        event_id = send_test(self.access, webhook_id)
        return Response({"id": f"evt_{event_id.hex}"}, status=202)


class WebhookDeliveriesView(WorkspaceView):
    """The log of a webhook's deliveries."""

    required: ClassVar = {"GET": ADMINS}
    queries: ClassVar = {"GET": DeliveryQuery}

    @extend_schema(responses=page_of(DeliverySerializer))
    def get(self, request: Request, ws: str, webhook_id: uuid.UUID) -> Response:
        """List the deliveries of a week, newest first."""
        page = KeysetPage.from_view(self, ordering=("-id",))
        rows = deliveries_of(get_endpoint(self.workspace, webhook_id), state=self.query.get("state"))
        return page.response(rows, lambda row: DeliverySerializer(row).data)


_WEBHOOK = "/webhooks/<uuid:webhook_id>"

urlpatterns = [
    below_workspace("/webhooks", WebhooksView.as_view(), "api-webhooks"),
    below_workspace(_WEBHOOK, OneWebhookView.as_view(), "api-webhook"),
    below_workspace(f"{_WEBHOOK}/test", WebhookTestView.as_view(), "api-webhook-test"),
    below_workspace(f"{_WEBHOOK}/deliveries", WebhookDeliveriesView.as_view(), "api-webhook-deliveries"),
]
