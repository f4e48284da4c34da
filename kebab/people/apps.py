"""The app of users, workspaces and their rights."""

from django.apps import AppConfig


class PeopleConfig(AppConfig):
    """Users, workspaces, memberships, tokens, and their pages."""

    name = "kebab.people"
    label = "people"

    def ready(self) -> None:
        """Register the tabs of the pages."""
        from kebab.people.pages import tabs

        tabs.register()
