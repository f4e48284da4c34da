"""A quoted phrase stands in a text as it is written."""

from search.retrieval.query.passage_words import is_written_in


def test_quoted_words_are_compared_as_they_are_written(subtests):
    cases = [
        ("clinical", "Clinical staff", True), ("clinical", "the clinic, clinics", False),
        ("community organiser", "a Community\n**organiser** who", True),
        ("community organiser", "a community organisation", False),
        ("annual leave", "leave annual leaves", False), ("e-mail", "an Email", True),
        ("Kündigung", "die KÜNDIGUNG gilt", True), ("Kündigung", "alle Kündigungen", False),
        ("Kündigung", "die Kundigung", False), ("kundigung", "die Kündigung", True),
        ("thé vert", "du thé vert", True), ("thé vert", "the vert", False), ("the vert", "du thé vert", True),
        ("straße", "Die STRASSE", False), ("strasse", "die Straße", True), ("系统", "這是系統維護", True),
        ("C++", "in C++, too", True), ("C", "in C++, too", False), ("договор", "Договора нет", False),
    ]  # fmt: skip
    for phrase, text, is_found in cases:
        with subtests.test(phrase=phrase, text=text):
            assert is_written_in(phrase, text) is is_found
