from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "kebab.accounts"
    label = "accounts"

    def ready(self) -> None:
        """Register the signal handler that ends the sessions of deactivated users."""
        import kebab.accounts.sign_in  # noqa: F401  # connects a signal
