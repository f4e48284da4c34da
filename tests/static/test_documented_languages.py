"""The table of languages in the documentation says what the code has."""

from tests.support.languages_table import PAGE, generate_page


def test_table_of_languages_equals_the_data_of_the_code():
    text = PAGE.read_text(encoding="utf-8")
    assert text == generate_page(text), "python -m tests.languages_table writes it"
