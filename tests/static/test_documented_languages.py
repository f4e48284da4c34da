"""The table of languages in the documentation says what the code has."""

from tests.support.languages_table import PAGE, generate_table


def test_table_of_languages_equals_the_data_of_the_code():
    text = PAGE.read_text(encoding="utf-8")
    assert generate_table() in text, "python -m tests.languages_table writes it"
