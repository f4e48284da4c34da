"""The app that manages users, workspaces and their rights."""

from django.apps import AppConfig


class PeopleConfig(AppConfig):
    """API and pages of users, workspaces, memberships and tokens."""

    name = "kebab.people"
    label = "people_management"
    extension = "kebab.wiring.EXTENSION"
