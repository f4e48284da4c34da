"""The WSGI application: everything except event streams."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kebab.settings")
application = get_wsgi_application()
