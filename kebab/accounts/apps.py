from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "kebab.accounts"
    label = "accounts"

    def ready(self) -> None:
        """Have sessions end with their person's activity."""
        import kebab.accounts.sessions  # noqa: F401  # it listens
