"""The Django app of identity."""

from django.apps import AppConfig


class IdentityConfig(AppConfig):
    """Users, workspaces, memberships, groups and tokens. Its label dates from `kebab.people`."""

    name = "kebab.identity"
    label = "people"
