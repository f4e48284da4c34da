"""`/workspaces/{ws}/webhooks`: endpoints of webhooks and their deliveries. For people only."""

import uuid
from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.http.api.idempotency import idempotent
from kebab.http.api.openapi_schema import page_of
from kebab.http.api.pagination import KeysetPage, PageQuery
from kebab.http.api.serializers import strict_body
from kebab.http.api.views import WorkspaceView
from kebab.identity.permissions import ADMINS
from kebab.webhooks.api.serializers import (
    DeliveryQuery,
    DeliverySerializer,
    NewWebhook,
    SentTestSerializer,
    WebhookChanges,
    WebhookSerializer,
    WebhookWithSecretSerializer,
)
from kebab.webhooks.endpoints import (
    change_endpoint,
    create_endpoint,
    delete_endpoint,
    deliveries_of,
    endpoints_of,
    get_endpoint,
    send_test,
)


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
