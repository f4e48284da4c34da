"""Writing of the catalogues of translations: `python -m tests.messages`, which `make messages` runs."""

import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kebab.settings")
django.setup()

from tests.support.catalogues import (  # noqa: E402  # templates need Django
    LANGUAGES,
    missing_translations,
    update_catalogue,
    write_catalogue,
)


def main() -> int:
    """Write the catalogues of all languages, report what is not translated; return 1 if there is any."""
    missing = 0
    for language in LANGUAGES:
        write_catalogue(update_catalogue(language))
        for message in missing_translations(language):
            missing += 1
            sys.stdout.write(f"{language}: {message!r} has no translation.\n")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
