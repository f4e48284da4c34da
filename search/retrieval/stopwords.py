"""Words that say little about what a text is about, by language, and which language they betray.

Only languages that write spaces are here: in the others pairs of signs are searched, not words.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Final

from search.retrieval.scripts import fold, words_of

#: ISO 639-1 code -> function words, folded as in the index.
STOP_WORDS: Final[Mapping[str, frozenset[str]]] = {
    language: frozenset(fold(word) for word in words.split())
    for language, words in {
        "en": """a about above after again all am an and any are as at be because been before being below
            between both but by can could did do does doing down during each few for from further had has
            have having he her here hers him his how i if in into is it its itself just me more most my no
            nor not of off on once only or other our out over own same she should so some such than that the
            their them then there these they this those through to too under until up very was we were what
            when where which while who whom why will with would you your""",
        "de": """aber als am an auch auf aus bei bin bis da damit das dass dem den der des die dies diese
            dieser dieses durch ein eine einem einen einer eines er es fur gab gibt haben hat hatte ich ihr
            ihre im in ist kann kein keine man mit muss nach nicht noch nur ob oder ohne sein seine sich sie
            sind so uber um und uns unter vom von vor war waren warum was welche welchem welchen welcher
            welches wem wen wenn wer werden wessen wie wieviel wird wir wo wodurch wofur wurde wurden zu zum
            zur""",
        "fr": """a au aux avec c ce ces cet cette comment combien d dans de des du elle elles en est et etait
            ete etre il ils je l la le les leur leurs lors lui m mais n ne nous on ont ou par pas pour
            pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se ses son sont sur un une
            vous y""",
        "es": """a al ante como con contra cual cuales cuando cuanto de del desde donde durante e el ella
            ellas ellos en entre era es esa ese eso esta este esto fue ha hasta hay la las le les lo los mas
            me mi muy ni no nos o para pero por porque que quien quienes se sin sobre son su sus también
            tambien tiene un una uno unos y ya""",
        "it": """a ad ai al alla alle allo anche che chi ci come con cosa cui da dal dalla dalle dei del
            della delle dello di dove e ed era gli ha hanno i il in io l la le lo loro ma nei nel nella
            nelle non o per perche piu qual quale quali quando quanto questa questo se si sono stato su sua
            sui sul sulla suo tra un una uno""",
        "pt": """a ao aos as ate com como da das de depois do dos e ela elas ele eles em entre era esta este
            eu foi foram isso isto ja mais mas na nao nas no nos o os ou para pela pelas pelo pelos por
            porque qual quais quando quanto que quem se sem ser seu seus sua suas tambem tem um uma voce""",
        "nl": """aan al als bij dan dat de der deze die dit door een en er geen had heb hebben heeft het hij
            hoe hoeveel hun ik in is je kan maar me men met mijn naar niet nog of om omdat onder ook op over
            te tegen toen tot uit van veel voor waar waarom wanneer was wat welk welke werd wie wordt zal ze
            zij zijn zo zou""",
        "sv": """alla att av de den denna det detta dig din du där efter eller en er ett fran for fran han
            hans har hon hur hade i icke inte ja jag kan man med men mot mycket nar ni nu och om oss pa sa
            sig sin ska som till under ut utan vad var varfor vi vid vilka vilken vilket ar over""",
        "da": """af alle at blev da de dem den denne der deres det dette dig din dog du efter eller en end er
            et for fra ham han hans har havde hende her hos hun hvad hvem hvilke hvilken hvilket hvor hvordan
            hvorfor hvornar i ikke jeg jo kan kunne man med men mig min mod ned nar og ogsa om op os over pa
            sig skal som til ud under var vi vil ville vor""",
        "fi": """ei eivat ja joka jos kuin kuinka kun kuka missa mika miksi milloin mitka mita mutta myos
            nama ne niin oli olivat olla on ovat se sen siita sita tai tama tata vain voi""",
        "pl": """aby ale bo byc byl byla bylo co czy czym dla do gdy gdzie go i ich jak jaka jaki jakie jako
            jest jego jej kiedy kto ktora ktore ktory lub ma moze na nad nie niz o od oraz po pod przez przy
            sa sie ta tak tam te tego tej ten to tym tylko w we z za ze""",
        "tr": """ama bir bu cok da daha de degil en gibi hangi hangisi hem her icin ile ise kac kadar ki kim
            mi mu mı nasil ne neden nerede nereye niye o olan olarak oldu olduğu sonra su ve veya ya""",
        "ro": """a ai al ale am ar are au ca care cat ce cea cel cine cu cum de din dintre este fi fost in
            intre la mai ne nu o or pe pentru prin sa sau se si sunt un unde unei unui""",
        "id": """ada adalah agar akan antara apa apakah atau bagaimana bahwa bisa dalam dan dapat dari dengan
            di ini itu juga kapan karena ke mana mengapa oleh pada saat sebagai siapa tidak untuk yang""",
        "vi": """bao bi boi cac cai cho co cua da dang day de den do duoc gi hay khi khong la lam mot nao nay
            nguoi nhu nhung o ra sao tai the theo thi trong tu va vao ve vi voi""",
        "ru": """а без бы был была были было в вам вас во вот все где да для до его ее если есть же за и из
            или им их к как какая какие какои какое когда которая которои которые которыи кто ли между мне
            можно на над не него нет ни но о об он она они от по под при с со так такои там то только том
            тут у уже чего чем что чтобы эта эти это этого я""",
        "uk": """а або але був була були було в в1д ви вiд де для до за з i и й його коли хто чи чому що
            щоб як яка яке якi який якии та так те то у це цеи є є ї її їх не на по при про""",
        "el": """αι απο αυτη αυτο γιατι για δεν ειναι εχει η θα και κατα με μετα μια να ο οι οποια οποιο
            οποιος οταν οτι που ποια ποιο ποιος ποτε πως σε στα στη στην στο στον στους τα την της τι τις
            το του τους των""",
        "ar": """ابن اذا اكثر الا التي الذي الى ان او اي اين بعد بين تم حتى حول خلال ذلك ذلك عام على عن عند
            فى في قبل قد كان كانت كل كم كما كيف لا لم لماذا ما ماذا متى مع من منذ هذا هذه هل هو هي و ولا""",
        "hi": """अपने इस इसके इसे उन उनके उस एक ऐसे और का कि किया किस किसने की कितने के को कौन क्या क्यों
            गया जब जा जो तक था थी थे द्वारा नहीं ने पर में यह या ये वह से है हैं हो""",
        "fa": """از است این با بر برای بود به تا چه چرا چند چگونه چیست در را شد شده کجا کدام که کی می های هر و
            یا یک""",
    }.items()
}
ENGLISH: Final = STOP_WORDS["en"]

# A single word of another list proves no language: `die` is English, too, and so is `comment`.
_PROOF_WORDS = 2
_OF_WORD: Final[Mapping[str, tuple[str, ...]]] = {
    word: tuple(language for language, words in STOP_WORDS.items() if word in words)
    for word in frozenset(chain.from_iterable(STOP_WORDS.values()))
}


def language_of(words: Iterable[str]) -> str | None:
    """Give the language, by its ISO 639-1 code, that the function words among folded `words` betray.

    None when there are less than two; English wherever it has as many as any other.
    """
    counts = Counter(language for word in words for language in _OF_WORD.get(word, ()))
    if not counts:
        return None
    most = max(counts.values())
    if most < _PROOF_WORDS:
        return None
    return "en" if counts["en"] == most else next(code for code, count in counts.items() if count == most)


def content_terms(terms: Sequence[str]) -> tuple[str, ...]:
    """Drop the stop words of the query's language, English if unknown, while other terms remain."""
    words = [tuple(words_of(term)) for term in terms]
    stop_words = STOP_WORDS[language_of(chain.from_iterable(words)) or "en"]
    content = tuple(
        term for term, own in zip(terms, words, strict=True) if not (own and stop_words.issuperset(own))
    )
    return content or tuple(terms)
