"""Order of names in Postgres in which the numbers in them count as numbers: 2.md before 10.md."""

from django.db.models import Func, TextField


class NaturalKey(Func):
    """The name with each number padded to 20 digits."""

    template = (
        "regexp_replace(regexp_replace(%(expressions)s, '\\d+', '00000000000000000000\\&', 'g'),"
        " '\\d*(\\d{20})', '\\1', 'g')"
    )
    output_field = TextField()
