"""URLs of the people's pages."""

from django.urls import path

from kebab.people.pages.audit import audit_download, audit_page
from kebab.people.pages.groups import (
    GroupAddition,
    GroupPage,
    GroupsPage,
    delete_shown_group,
    remove_member_from_group,
)
from kebab.people.pages.members import (
    PeoplePage,
    PersonPage,
    access_page,
    change_groups,
    remove_person,
    renew,
    withdraw,
)
from kebab.people.pages.settings import SettingsPage, WorkspaceDeletion
from kebab.people.pages.tokens import TokenPage, TokensPage, revoke

_W = "w/<str:slug>"
_PERSON = f"{_W}/people/<int:user_id>"
_INVITATION = f"{_W}/people/invitations/<uuid:invitation_id>"
_GROUP = f"{_W}/groups/<uuid:group_id>"
_TOKEN = f"{_W}/tokens/<uuid:token_id>"

urlpatterns = [
    path(f"{_W}/people", PeoplePage.as_view(), name="people"),
    path(_PERSON, PersonPage.as_view(), name="person"),
    path(f"{_PERSON}/groups", change_groups.as_view(), name="person-groups"),
    path(f"{_PERSON}/remove", remove_person.as_view(), name="person-removal"),
    path(f"{_INVITATION}/withdraw", withdraw.as_view(), name="invitation-withdrawal"),
    path(f"{_INVITATION}/again", renew.as_view(), name="invitation-again"),
    path(f"{_W}/groups", GroupsPage.as_view(), name="groups"),
    path(_GROUP, GroupPage.as_view(), name="group"),
    path(f"{_GROUP}/delete", delete_shown_group.as_view(), name="group-deletion"),
    path(f"{_GROUP}/members", GroupAddition.as_view(), name="group-addition"),
    path(f"{_GROUP}/members/<int:user_id>/remove", remove_member_from_group.as_view(), name="group-removal"),
    path(f"{_W}/tokens", TokensPage.as_view(), name="tokens"),
    path(_TOKEN, TokenPage.as_view(), name="token"),
    path(f"{_TOKEN}/revoke", revoke.as_view(), name="token-revocation"),
    path(f"{_PERSON}/access", access_page.as_view(), name="person-access"),
    path(f"{_TOKEN}/access", access_page.as_view(), name="token-access"),
    path(f"{_W}/settings", SettingsPage.as_view(), name="settings"),
    path(f"{_W}/settings/search", SettingsPage.as_view(section="search"), name="settings-search"),
    path(
        f"{_W}/settings/retention",
        SettingsPage.as_view(section="retention"),
        name="settings-retention",
    ),
    path(f"{_W}/settings/delete", WorkspaceDeletion.as_view(), name="workspace-deletion"),
    path(f"{_W}/audit", audit_page.as_view(), name="audit"),
    path(f"{_W}/audit.csv", audit_download.as_view(), name="audit-csv"),
]
