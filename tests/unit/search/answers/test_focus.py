"""The part of a message that asks: greetings, thanks, reasons, background and pasted text are left out."""

from search.answers.focus import find_focus, refers_back, says_subject
from search.answers.speech import speech_of
from search.retrieval.text.unicode_scripts import words_of
from tests.drills.answers.beginnings import build_log, read_rows

#: A message, and the part that asks.
MESSAGES = [
    ("Hello, how many vacation days do I have?", "how many vacation days do I have?"),
    ("Could somebody please tell me what the dress code is", "what the dress code is"),
    ("I'm new here and would like to know how many days off I get.", "how many days off I get."),
    ("My boss asked me to find out. How long is the warranty? Thanks!", "How long is the warranty?"),
    ("Because I move next week, how many days off do I get?", "how many days off do I get?"),
    ("How many days off do I get, because I plan a trip?", "How many days off do I get"),
    ("Hallo zusammen, wie viele Urlaubstage habe ich?", "wie viele Urlaubstage habe ich?"),
    ("Könnte mir bitte jemand sagen, bis wann der Antrag gilt?", "bis wann der Antrag gilt?"),
    ("Da ich umziehe: Wann verfällt der Resturlaub? Danke!", "Wann verfällt der Resturlaub?"),
    ("Bonjour, pourriez-vous me dire combien de jours j'ai ?", "combien de jours j'ai ?"),
    ("Parce que ma sœur me l'a demandé, où est l'extincteur ?", "où est l'extincteur ?"),
    ("Hola a todos, ¿alguien podría decirme cuántos días tengo?", "cuántos días tengo?"),
    ("Buongiorno a tutti, vorrei sapere quanti giorni di ferie ho.", "quanti giorni di ferie ho."),
    ("Olá a todos, alguém pode me dizer quantos dias de férias tenho?", "quantos dias de férias tenho?"),
    ("Hallo allemaal, kan iemand mij vertellen hoeveel vrije dagen ik heb?", "hoeveel vrije dagen ik heb?"),
    ("Hej alla, jag är ny här. Hur många semesterdagar har jag?", "Hur många semesterdagar har jag?"),
    ("Hei kaikki, voisiko joku kertoa, montako lomapäivää minulla on?", "montako lomapäivää minulla on?"),
    ("Dzień dobry, czy ktoś mógłby mi powiedzieć, ile dni urlopu mam?", "ile dni urlopu mam?"),
    ("Merhaba arkadaşlar, yeni başladım, kaç gün iznim var?", "kaç gün iznim var?"),
    ("Здравствуйте, подскажите, сколько дней отпуска у меня есть?", "сколько дней отпуска у меня есть?"),
    ("नमस्ते, कृपया बताइए कि मुझे कितनी छुट्टियाँ मिलती हैं?", "कितनी छुट्टियाँ मिलती हैं?"),
]
#: Questions of which each part says what they are about.
WHOLE = [
    "my grandmother died, how much time can I take?",
    "a supplier wrote that its bank account has changed, what now?",
    "I clicked on a link in a dodgy mail",
    "wie bekomme ich Hilfe bei einer Panne",
    "que faire quand on est malade ?",
    "Who is Dr. Miller?",
    "忘れたパスワードはどうすればいいですか?",
]


def test_part_that_asks_is_found_in_many_languages(subtests):
    for message, asking in MESSAGES:
        with subtests.test(message=message):
            assert find_focus(message).asking == asking


def test_question_without_a_beginning_is_whole(subtests):
    for message in WHOLE:
        with subtests.test(message=message):
            assert find_focus(message).asking == message


def test_pasted_log_is_left_out():
    log = build_log()
    for _, question in read_rows("question"):
        assert find_focus(f"{log}\n{question}").asking == question
        assert find_focus(f"{question}\n\n{log}").asking == question


def test_background_is_told_apart_for_a_question_that_refers_to_it():
    for message, asking, background in [
        ("My printer shows 59.F0. What does it mean?", "What does it mean?", "My printer shows 59.F0."),
        ("Mein Drucker zeigt 59.F0. Was bedeutet das?", "Was bedeutet das?", "Mein Drucker zeigt 59.F0."),
    ]:
        focus = find_focus(message)
        assert (focus.asking, focus.background) == (asking, background)
        assert not says_subject(focus.asking, focus.speech)


#: A question, and whether a word of it refers to what was said before.
REFERENCES = [
    ("How long does delivery to Norway take for it?", True),
    ("Is there a form for them?", True),
    ("If a file is lost, who restores it?", False),
    ("How do I restore a file and where is it stored?", False),
    ("Is there a form for travel expenses?", False),
    ("Wie lange dauert die Lieferung dafür?", True),
    ("Wenn ein Schlüssel verloren ist, wer ersetzt ihn?", False),
    ("Existe-t-il un formulaire pour cela ?", True),
]


def test_words_refer_back_unless_an_earlier_clause_has_what_they_mean(subtests):
    for question, refers in REFERENCES:
        with subtests.test(question=question):
            assert refers_back(question, speech_of(words_of(question))) is refers


def test_language_without_words_of_conversations_has_its_stop_words():
    speech = speech_of(words_of("Koliko dni dopusta imam in kako ga vzamem?"))
    assert speech.language == "sl"
    assert speech.content(["kako", "dopust"]) == ["dopust"]
    assert find_focus("Koliko dni imam?").asking == "Koliko dni imam?"
