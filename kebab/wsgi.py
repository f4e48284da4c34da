"""The views as a WSGI application, for tools that call them without a server; `kebab.asgi` serves them."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kebab.settings")
application = get_wsgi_application()
