"""The views as a WSGI application, for tools that call them without a server; `kebab.asgi` serves them."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kebab.settings")
django.setup(set_prefix=False)

from kebab.http.handlers import ViewHandler  # noqa: E402  # Django is set up first

application = ViewHandler()
