"""The app of users, workspaces and their rights."""

from django.apps import AppConfig


class PeopleConfig(AppConfig):
    """Users, workspaces, memberships, tokens, and their pages."""

    name = "kebab.people"
    label = "people"
    extension = "kebab.people.wiring.EXTENSION"
