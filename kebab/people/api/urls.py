"""API URLs of workspaces, members, groups, invitations, tokens and audit, below `/api/v1/`."""

from django.urls import path

from kebab.http.api.urls import below_workspace
from kebab.people.api.members import (
    AccessView,
    GroupMemberView,
    GroupsView,
    InvitationsView,
    MembersView,
    OneGroupView,
    OneInvitationView,
    OneMemberView,
)
from kebab.people.api.tokens import OneTokenView, TokenRotationView, TokensView
from kebab.people.api.workspaces import AuditView, OneWorkspaceView, WorkspacesView

urlpatterns = [
    path("workspaces", WorkspacesView.as_view(), name="api-workspaces"),
    below_workspace("", OneWorkspaceView.as_view(), "api-workspace"),
    below_workspace("/members", MembersView.as_view(), "api-members"),
    below_workspace("/members/<int:user_id>", OneMemberView.as_view(), "api-member"),
    below_workspace("/tokens", TokensView.as_view(), "api-tokens"),
    below_workspace("/tokens/<uuid:token_id>", OneTokenView.as_view(), "api-token"),
    below_workspace("/tokens/<uuid:token_id>/rotate", TokenRotationView.as_view(), "api-token-rotation"),
    below_workspace("/groups", GroupsView.as_view(), "api-groups"),
    below_workspace("/groups/<uuid:group_id>", OneGroupView.as_view(), "api-group"),
    below_workspace(
        "/groups/<uuid:group_id>/members/<int:user_id>", GroupMemberView.as_view(), "api-group-member"
    ),
    below_workspace("/invitations", InvitationsView.as_view(), "api-invitations"),
    below_workspace("/invitations/<uuid:invitation_id>", OneInvitationView.as_view(), "api-invitation"),
    below_workspace("/audit", AuditView.as_view(), "api-audit"),
    below_workspace("/access", AccessView.as_view(), "api-access"),
]
