"""The addresses of workspaces, members and tokens, below `/api/v1/`."""

from django.urls import path

from kebab.api.urls import below_workspace
from kebab.people.api.members import MembersView, OneMemberView
from kebab.people.api.tokens import OneTokenView, TokensView
from kebab.people.api.workspaces import OneWorkspaceView, WorkspacesView

urlpatterns = [
    path("workspaces", WorkspacesView.as_view(), name="api-workspaces"),
    below_workspace("", OneWorkspaceView.as_view(), "api-workspace"),
    below_workspace("/members", MembersView.as_view(), "api-members"),
    below_workspace("/members/<int:user_id>", OneMemberView.as_view(), "api-member"),
    below_workspace("/tokens", TokensView.as_view(), "api-tokens"),
    below_workspace("/tokens/<uuid:token_id>", OneTokenView.as_view(), "api-token"),
]
