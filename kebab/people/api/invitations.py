"""`/workspaces/{ws}/invitations`: invitations by mail. For people only."""

import uuid
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.http.api.idempotency import idempotent
from kebab.http.api.openapi_schema import page_of
from kebab.http.api.serializers import StrictSerializer, strict_body
from kebab.http.api.views import KeysetPage, PageQuery, WorkspaceView
from kebab.http.site_address import site_address
from kebab.identity.caller import ADMINS
from kebab.identity.models import Invitation, Role
from kebab.identity.models.invitation import InvitationState
from kebab.people.api.serializers import GroupIdsField
from kebab.people.invitations.lifecycle import withdraw_invitation
from kebab.people.invitations.mail import invite_by_mail


class NewInvitation(StrictSerializer):
    """The body that invites somebody."""

    email = serializers.EmailField()
    role = serializers.ChoiceField(Role.choices, help_text="Nobody gives one above their own.")
    groups = GroupIdsField(required=False, default=list)


class InvitationSerializer(serializers.Serializer[Invitation]):
    """An invitation without its link."""

    id = serializers.UUIDField()
    email = serializers.EmailField()
    role = serializers.ChoiceField(Role.choices)
    groups = serializers.ListField(child=serializers.UUIDField(), source="group_ids")
    invited_by = serializers.CharField()
    state = serializers.ChoiceField(
        InvitationState.choices, help_text="`void`: who made it may give that role no more."
    )
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()


class InvitationWithLinkSerializer(InvitationSerializer):
    """A new invitation."""

    link = serializers.CharField(
        allow_null=True,
        help_text="Where it is accepted, for an operator to pass on while mails don't leave the server. Null"
        " for all others, so that who opens it has shown the address to be theirs, and in an answer repeated"
        " by Idempotency-Key.",
    )
    is_mailed = serializers.BooleanField(help_text="Whether a mail server has taken the mail.")


class InvitationsView(WorkspaceView):
    """The invitations to a workspace."""

    required: ClassVar = {"GET": ADMINS, "POST": ADMINS}
    queries: ClassVar = {"GET": PageQuery}

    @extend_schema(responses=page_of(InvitationSerializer))
    def get(self, request: Request, ws: str) -> Response:
        """List the invitations, newest first, past ones too."""
        page = KeysetPage.from_view(self, ordering=("-created_at", "id"))
        return page.response(
            self.workspace.invitations.with_is_backed(), lambda row: InvitationSerializer(row).data
        )

    @extend_schema(request=NewInvitation, responses={201: InvitationWithLinkSerializer})
    @idempotent(recheck=None, withhold=("link",))
    def post(self, request: Request, ws: str) -> Response:
        """Invite somebody by mail. An earlier invitation to the address is withdrawn.

        The link works once and for a week, for the invited address only.
        """
        fields = strict_body(request, NewInvitation)
        invitation = {"email": fields["email"], "role": Role(fields["role"]), "groups": fields["groups"]}
        sent = invite_by_mail(self.access, site_address(request), **invitation)
        answer: dict[str, Any] = {
            **InvitationSerializer(sent.invitation).data,
            "link": sent.link,
            "is_mailed": sent.is_mailed,
        }
        return Response(answer, status=201, headers={"Cache-Control": "no-store"})


class OneInvitationView(WorkspaceView):
    """One invitation to a workspace."""

    required: ClassVar = {"DELETE": ADMINS}

    @extend_schema(responses={204: None})
    def delete(self, request: Request, ws: str, invitation_id: uuid.UUID) -> Response:
        """Withdraw the invitation: its link no longer works."""
        withdraw_invitation(self.access, invitation_id)
        return Response(status=204)
