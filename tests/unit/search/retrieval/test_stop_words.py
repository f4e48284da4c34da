import pytest

from search.retrieval.scripts import words_of
from search.retrieval.stopwords import STOP_WORDS, content_terms, is_stop_word, language_of


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


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Which team won the first Super Bowl?", "en"),
        ("Wo wurde die erste Universität des Landes gegründet?", "de"),
        ("Quel est le nom de la rivière qui traverse la ville ?", "fr"),
        ("¿Cuántos habitantes tenía la ciudad durante el siglo XIX?", "es"),
        ("Qual è stata la prima capitale del regno?", "it"),
        ("Quando foi fundada a universidade do Porto?", "pt"),
        ("Wat is de naam van het oudste gebouw?", "nl"),
        ("Vilken är den största staden i landet?", "sv"),
        ("Jaka jest nazwa rzeki, która przepływa przez miasto?", "pl"),
        ("Kde se nachází největší město této země?", "cs"),
        ("Ülkenin en büyük şehri hangisi ve ne kadar eski?", "tr"),
        ("Kapan universitas itu didirikan dan oleh siapa?", "id"),
        ("В каком году был основан этот университет?", "ru"),
        ("Коли було засновано університет та хто його очолив?", "uk"),
        ("Πότε ιδρύθηκε το πανεπιστήμιο και από ποιον;", "el"),
        ("متى تم تأسيس الجامعة و من هو رئيسها", "ar"),
        ("विश्वविद्यालय की स्थापना कब हुई थी और किसने की", "hi"),
        ("Đâu là thành phố lớn nhất của Việt Nam và có bao nhiêu người", "vi"),
        ("Сколько книг написал автор?", "ru"),
        ("process die", None),
        ("rate limit", None),
        ("部署 is", None),
        ("for i in a: x = i if i else e", "en"),
    ],
)
def test_function_words_betray_the_language(text, language):
    assert language_of(words_of(text)) == language


def test_a_pair_of_hiragana_is_a_stop_word_and_a_pair_with_another_sign_is_none():
    assert is_stop_word("です", None)
    assert not is_stop_word("定で", None)
    assert not is_stop_word("デス", None)


def test_stop_words_are_folded_as_queries_are():
    assert all(words_of(word) == [word] for words in STOP_WORDS.values() for word in words)
