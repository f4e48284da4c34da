"""Writing of the documentation's table of languages: `python -m tests.languages_table`."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kebab.settings")
django.setup()

from tests.support.languages_table import PAGE, generate_page  # noqa: E402  # needs Django's settings

if __name__ == "__main__":
    PAGE.write_text(generate_page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
