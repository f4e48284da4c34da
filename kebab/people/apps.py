"""The app of users, workspaces and who may do what."""

from django.apps import AppConfig


class PeopleConfig(AppConfig):
    """People, and the pages about them."""

    name = "kebab.people"
    label = "people"

    def ready(self) -> None:
        """Register the tabs."""
        from kebab.people.pages import tabs

        tabs.register()
