import pytest

from search.retrieval.stopwords import content_terms


@pytest.mark.parametrize(
    ("query", "content"),
    [
        ("how do I install the server", "install server"),
        ("What happens when processes die?", "happens processes die?"),
        ("wie installiere ich die Datenbank auf dem Server", "installiere Datenbank Server"),
        ("comment installer le serveur dans la base", "installer serveur base"),
        ("leave a comment", "leave comment"),
        ("process die", "process die"),
    ],
)
def test_stop_words_of_the_query_s_language_are_dropped(query, content):
    assert content_terms(query.split()) == tuple(content.split())


@pytest.mark.parametrize("query", ["to be or not to be", "the", ""])
def test_a_query_of_stop_words_stays_whole(query):
    assert content_terms(query.split()) == tuple(query.split())


def test_punctuation_around_a_stop_word_does_not_save_it():
    assert content_terms(["The,", "(server)"]) == ("(server)",)
