"""The extension of the app `webhooks`."""

from kebab.extension import Extension, lazy

EXTENSION = Extension(
    init_steps=(("secrets of webhooks", lazy("kebab.webhooks.endpoints.rotate_secrets")),),
)
