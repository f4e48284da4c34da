from search.retrieval.query.stopwords import (
    STOP_WORDS,
    content_terms,
    is_stop_word,
    language_of,
)
from search.retrieval.text.unicode_scripts import accented_words_of, words_of


def test_stop_words_of_the_language_are_dropped(subtests):
    cases = [
        ("how do I install the server", "install server"),
        ("What happens when processes die?", "happens processes die?"),
        ("wie installiere ich die Datenbank auf dem Server", "installiere Datenbank Server"),
        ("comment installer le serveur dans la base", "installer serveur base"),
        ("leave a comment", "leave comment"), ("process die", "process die"),
    ]  # fmt: skip
    for query, content in cases:
        with subtests.test(query=query):
            assert content_terms(query.split()) == tuple(content.split())
    for query in ("to be or not to be", "the", ""):
        with subtests.test(query=query):
            assert content_terms(query.split()) == tuple(query.split())
    assert content_terms(["The,", "(server)"]) == ("(server)",)


def test_typed_accents_distinguish_stop_words(subtests):
    cases = [
        ("the", "en", True), ("thé", "en", False), ("sur", "fr", True), ("sûr", "fr", False),
        ("où", "fr", True), ("für", "de", True), ("fur", "de", True), ("có", "vi", True), ("cỏ", "vi", False),
        ("è", "it", True), ("amb", "ca", True), ("של", "he", True),
    ]  # fmt: skip
    for word, language, is_stop in cases:
        with subtests.test(word=word):
            assert is_stop_word(word, language) is is_stop


def test_query_language_is_detected_by_function_words(subtests):
    cases = [
        ("Which team won the first Super Bowl?", "en"),
        ("Wo wurde die erste Universität des Landes gegründet?", "de"),
        ("Quel est le nom de la rivière qui traverse la ville ?", "fr"),
        ("¿Cuántos habitantes tenía la ciudad durante el siglo XIX?", "es"),
        ("Qual è stata la prima capitale del regno?", "it"),
        ("Quando foi fundada a universidade do Porto?", "pt"),
        ("Wat is de naam van het oudste gebouw?", "nl"), ("Vilken är den största staden i landet?", "sv"),
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
        ("Сколько книг написал автор?", "ru"), ("process die", None), ("rate limit", None),
        ("Quants dies de vacances té aquesta persona?", "ca"), ("איפה נמצא המשרד של החברה", "he"),
        ("部署 is", None), ("for i in a: x = i if i else e", "en"),
    ]  # fmt: skip
    for text, language in cases:
        with subtests.test(text=text):
            assert language_of(words_of(text)) == language


# A question in each language with the words that it is about.
QUESTIONS = {
    "af": ("Hoeveel dae verlof kry ek en hoe kan ek dit aanvra", "dae verlof kry aanvra"),
    "bn": ("আমি কীভাবে ছুটির আবেদন করতে পারি এবং কে অনুমোদন করে", "ছুটির আবেদন অনুমোদন"),
    "eo": ("Kiel mi povas peti feriojn kaj kiu aprobas ilin", "peti feriojn aprobas"),
    "et": ("Kuidas ma saan puhkust taotleda ja kes selle kinnitab", "puhkust taotleda kinnitab"),
    "eu": ("Nola eska dezaket oporraldia eta nork onartzen du", "eska dezaket oporraldia onartzen"),
    "ga": ("Cad é mar is féidir liom saoire a iarraidh agus cé leis", "féidir saoire iarraidh"),
    "gl": ("Como podo pedir as vacacións e quen as aproba na miña oficina", "pedir vacacións aproba oficina"),
    "hr": ("Gdje se nalazi obrazac za odmor i tko ga odobrava", "nalazi obrazac odmor odobrava"),
    "hy": ("Ինչպես կարող եմ արձակուրդ խնդրել և ով է հաստատում", "արձակուրդ խնդրել հաստատում"),
    "is": ("Hvernig sæki ég um orlof og hver samþykkir það", "sæki orlof samþykkir"),
    "lt": ("Kaip aš galiu prašyti atostogų ir kas jas tvirtina", "prašyti atostogų jas tvirtina"),
    "lv": ("Kā es varu pieteikt atvaļinājumu un kas to apstiprina", "es pieteikt atvaļinājumu to apstiprina"),
    "mk": ("Како можам да побарам одмор и кој го одобрува што сум побарал", "побарам одмор одобрува побарал"),
    "mr": ("मी रजा कशी मागू शकतो आणि ती कोण मंजूर करते", "रजा मागू शकतो मंजूर करते"),
    "ne": ("म बिदा कसरी माग्न सक्छु र कसले स्वीकृत गर्छ", "बिदा माग्न सक्छु स्वीकृत"),
    "sk": ("Ako môžem požiadať o dovolenku a kto ju schvaľuje", "požiadať dovolenku schvaľuje"),
    "sl": ("Kako lahko zaprosim za dopust in kdo ga odobri", "zaprosim dopust odobri"),
    "sq": ("Si mund të kërkoj pushim dhe kush e miraton", "kërkoj pushim miraton"),
    "sr": ("Где се налази образац за одмор и ко га одобрава", "налази образац одмор одобрава"),
    "sw": ("Wapi ninaomba likizo na nani ataidhinisha ya timu yangu", "ninaomba likizo ataidhinisha timu"),
    "ta": ("நான் எப்படி விடுமுறை கேட்க வேண்டும்", "விடுமுறை கேட்க"),
    "tl": ("Paano ako hihingi ng bakasyon at sino ang nag-aapruba nito", "hihingi bakasyon nag-aapruba"),
    "ur": ("میں چھٹی کیسے مانگوں اور اسے کون منظور کرتا ہے", "چھٹی مانگوں منظور"),
    "yi": ("ווי קען איך בעטן אורלויב און ווער באשטעטיקט עס", "בעטן אורלויב באשטעטיקט"),
}  # fmt: skip


def test_questions_keep_the_words_that_they_are_about(subtests):
    for language, (question, content) in QUESTIONS.items():
        with subtests.test(language=language):
            assert language_of(words_of(question)) == language
            assert content_terms(question.split()) == tuple(content.split())


def test_stop_words_are_folded_and_pairs_of_hiragana():
    assert is_stop_word("です", None)
    assert not is_stop_word("定で", None)
    assert not is_stop_word("デス", None)
    assert all(accented_words_of(word) == [word] for words in STOP_WORDS.values() for word in words)
