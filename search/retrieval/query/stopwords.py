"""Stop words by language, and detection of the language by its function words.

Only languages that write spaces are listed: the others are indexed by character bigrams, not words.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Final

from search.retrieval.text.unicode_scripts import fold, words_of

# ISO 639-1 code -> function words, unfolded: articles, pronouns, prepositions, conjunctions,
# auxiliaries, question words.
_LISTS: Final[Mapping[str, str]] = {
    "en": """a about above after again all am an and any are as at be because been before being below between
        both but by can could did do does doing down during each few for from further had has have having he
        her here hers him his how i if in into is it its itself just me more most my no nor not of off on once
        only or other our out over own same she should so some such than that the their them then there these
        they this those through to too under until up very was we were what when where which while who whom
        whose why will with would you your don doesn didn isn aren wasn weren won couldn wouldn shouldn hasn
        haven hadn""",
    "de": """aber alle allem allen aller alles als also am an andere anderen auch auf aus bei beim bin bis
        bist da dabei damit dann das dass daß dazu dem den denn der deren des dessen die dies diese diesem
        diesen dieser dieses doch dort du durch ein eine einem einen einer eines er es etwas euch euer für
        gegen gibt hab habe haben hat hatte hatten hier hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer
        ihres im in ins ist ja jede jedem jeden jeder jedes jene jener jetzt kann kein keine keinen keiner
        können man mehr mein meine mich mir mit muss müssen nach nicht nichts noch nun nur ob oder ohne sehr
        sein seine seinem seinen seiner seit sich sie sind so solche soll sollte sondern sonst über um und uns
        unser unter viele vom von vor war waren warum was weil welche welchem welchen welcher welches wem wen
        wenn wer werden weshalb wessen wie wieso wieviel wird wo wodurch wofür woher wohin womit wurde wurden
        wann während zu zum zur zwischen""",
    "fr": """a ai après au aucun aussi autre aux avant avec avoir ce cela celle celui ces cet cette ceux chez
        comme comment combien dans de depuis des deux dont du elle elles en entre est et étaient était été
        être eu eux fait fut furent il ils je jusqu la laquelle le lequel les lesquels leur leurs lors lui ma
        mais me même mes moi mon ne ni nos notre nous on ont ou où par pas pendant peut plus pour pourquoi qu
        quand que quel quelle quelles quels qui quoi sa sans se selon ses si son sont sous sur ta te tes toi
        ton tous tout toute très tu un une vers vos votre vous y à""",
    "es": """a al algo ante antes aquel aquella aunque bajo cada como cómo con contra cual cuál cuales cuáles
        cuando cuándo cuanto cuánto cuántas cuántos de del desde donde dónde dos durante e el él ella ellas
        ellos en entre era eran eres es esa esas ese eso esos esta está estaba estado están estar estas este
        esto estos fue fueron ha había habían han hasta hay hace la las le les lo los más me mediante mi
        mientras muy nada ni no nos nosotros nuestra nuestro o os otra otras otro otros para pero poco por
        porque puede que qué quien quién quienes quiénes se sea según ser si sí sido sin sino sobre son su sus
        también tan tanto te tiene tienen todo todos tras tu un una unas uno unos usted y ya yo""",
    "it": """a abbia ad agli ai al alla alle allo anche ancora avere aveva che chi ci come con contro cosa cui
        da dagli dai dal dalla dalle dallo degli dei del della delle dello dentro di dopo dove dov due durante
        e è ed era erano essere fino fra fu furono gli ha hanno ho i il in io la le lei li lo loro lui ma
        mentre mi mia mio molto ne negli nei nel nella nelle nello no noi non nostro o ogni oltre per perché
        più poi può prima qual quale quali quando quanta quante quanti quanto quella quelle quelli quello
        questa queste questi questo qui se sei senza si sia siano sono stata stato sto su sua sue sugli sui
        sul sulla sulle sullo suo suoi tra tu tutti tutto un una uno vi viene voi""",
    "pt": """a à ao aos aquela aquele aquilo as às até através cada com como da das de dela dele depois desde
        do dos durante e é ela elas ele eles em enquanto entre era eram essa esse esta está estão estava este
        estes eu foi foram há isso isto já lhe mais mas me mesmo meu minha muito na não nas nem no nos nós
        nossa nosso num numa o onde os ou outra outro para pela pelas pelo pelos pode por porque porquê pouco
        qual quais quando quanta quantas quanto quantos que quê quem se seja sem ser seu seus si sido sob
        sobre sua suas são também tem têm teve tinha toda todo todos tu um uma umas uns você vocês""",
    "nl": """aan al alle als andere bij daar dan dat de deze die dit doen door dus een eens en er ge geen had
        hadden heb hebben heeft hem het hier hij hoe hoeveel hun iets ik in is ja je kan kon kunnen maar me
        meer men met mij mijn moet na naar niet niets nog nu of om omdat onder ons ook op over reeds sinds te
        tegen toch toen tot tussen uit uw van veel voor waar waarin waarom wanneer want waren was wat welk
        welke werd werden wie wiens wij wil worden wordt ze zelf zich zij zijn zo zonder zou zullen""",
    "sv": """alla allt att av blev bli blir de dem den denna deras dess det detta dig din du då där efter ej
        eller en er ett från för ha hade han hans har henne hennes hon honom hos hur hurdan här i icke in
        innan inom inte ja jag kan kunde man med mellan men mer mig min mot mycket när någon något några ni nu
        och om oss på samt sedan sig sin sitt ska skulle som så till under upp ut utan vad var vara varför
        varit vart vem vems vi vid vilka vilken vilket vill åt är över""",
    "da": """af alle alt at blev blive bliver da de dem den denne der deres det dette dig din dog du efter
        eller en end er et for fordi fra før ham han hans har havde have hende hendes her hos hun hvad hvem
        hvilke hvilken hvilket hvis hvor hvordan hvorfor hvornår i ikke ind jeg jo kan kunne man mange med
        meget mellem men mere mig min mod ned noget nogle nu når og også om op os over på sig sin skal skulle
        som til ud uden under var ved vi vil ville vor være været""",
    "no": """alle at av bare ble bli blir da de dem den denne der deres det dette din du eller en enn er et
        etter for fordi fra før ha hadde han hans har hennes her hos hun hva hvem hvilke hvilken hvilket hvis
        hvor hvordan hvorfor i ikke inn jeg kan kom kunne man mange med meg mellom men mer min mot mye noe
        noen nå når og også om opp oss over på samt seg sin skal skulle som så til under ut uten var ved vi
        vil ville være vært år""",
    "fi": """ei eivät että ennen enemmän he heidän hän hänen ja jo joita joka jolla jonka jos jossa jota jotka
        kanssa koska kuin kuinka kuka kun kuten mikä miksi millainen milloin minkä missä mistä mihin mitä
        mitkä montako mukaan mutta myös ne niiden niin niitä noin nyt nämä ole oli olivat ollut olla on ovat
        se sekä sen siinä siitä sitä tai tämä tämän tässä tätä vain voi voidaan vuonna""",
    "pl": """aby ale będzie bez być był była było były bo co czego czy czym dla do dlaczego gdy gdzie go i ich
        ile im inne inny ja jak jaka jaki jakie jako je jego jej jest jeśli już każdy kiedy kim kto która
        które którego której który których lub ma może można mu na nad nie niż o od on ona one oni oraz po pod
        ponieważ przed przez przy są się ta tak także tam te tego tej ten to tych tym tylko tylu w we więc z
        za ze został została""",
    "cs": """a aby aj ale ani asi až bez bude budou by byl byla byli bylo být co což či další do ho i ja jak
        jaká jaké jaký jako je jeho jej její jejich jen ještě ji jsem jsou k kam kde kdo kdy kdyby když ke
        kolik která které který kteří ku má mezi mít může na nad nebo není než o od on ona oni po pod podle
        pokud pouze právě pro proč proto před při s se si své svůj ta tak také takže tato ten tedy tento této
        to tohoto toto tu ty už v ve více však za ze že""",
    "hu": """a abban ahol ahhoz aki akik amely amelyek ami az azok azt azért be csak de e egy egyik el ez ezek
        ezt és fel ha hány hanem hogy hogyan hol így illetve is ki kik kell kivel le lehet lesz lett már meg
        mely melyek melyik mennyi mert mi miért mikor milyen mint minden mit nagyon ne nem több után volt
        voltak vagy van vannak""",
    "ro": """a acea aceasta această acest aceste acestea acestei acestui ai al ale am ar are asupra atunci au
        avea avut ca că care cărei căror cărui câți câte ce cea cei cel cele când cât cine cu cum da dar de
        deci decât despre din dintre după e ea ei el ele era erau este eu fi fie fost iar în între la le lor
        lui mai mult ne ni nici nu o or pe pentru prin sa să sale sau său se si și sunt sub sus tot un unde
        unei unele unor unui va""",
    "tr": """ama ancak aynı bazı beri bir biri biz bu buna bunu bunun çok çünkü da daha de değil diğer diye en
        eğer fakat gibi göre hangi hangisi hem hep her hiç için ile ise kaç kadar kez ki kim kime kimin mi mı
        mu mü nasıl ne neden nedir nerede nereden nereye niçin o olan olarak oldu olduğu olur onlar onun sonra
        şu tarafından tüm üzere var ve veya ya yani yok""",
    "id": """ada adalah agar akan antara apa apakah atas atau bagaimana bagi bahwa banyak beberapa belum
        berapa bisa dalam dan dapat dari daripada dengan di dia hanya harus hingga ia ini itu jika juga kami
        kapan karena ke kepada ketika lain lebih maka mana masih mengapa mereka namun oleh pada para pernah
        saat saja sampai sangat saya sebagai sebuah sebelum secara sedang sejak selama seorang seperti serta
        setelah siapa siapakah suatu sudah tahun tanpa telah tentang terhadap tersebut tetapi tidak untuk
        yaitu yang""",
    "vi": """ai bao bằng bị các cái cần chỉ cho chưa có của cùng cũng đã đang đâu đây để đến đều điều do đó
        được gì giữa hay hơn khi không là lại làm lên mà mỗi một nào này nên nếu nhiều như nhưng những ở phải
        qua ra rằng rất rồi sao sau sẽ số sự tại theo thì trên trong trước từ và vào vẫn về vì việc với""",
    "ru": """а без более больше был была были было быть в вам вас ваш весь во вот все всех всего вы где да
        даже для до его ее её если есть еще ещё же за зачем и из или им их к как какая какие какими каких
        какова каковы какого какое какой каком какому какую когда кого ком кому которая которого которое
        которой котором которую которые которым которых который кто куда ли между меня мне много может можно
        мой мы на над надо нас наш не него нее ней нет ни ним них но ну о об один она они оно он от откуда
        очень перед по под после потом потому почему при про с сам себя сколько со так также такие такой там
        те тем то того тоже той только том тот ту ты у уже хотя чего чей чем через что чтобы чье чья эта эти
        этим этих это этого этой этом этот эту я""",
    "uk": """а або адже але без бо був була були було бути в ваш вже ви від він вона вони воно все для до є ж
        за звідки з зі і із й його її їх їхній коли кого котрий куди кому ли між може мене ми на над нас наш
        не ні них о об од один під після по при про скільки та так також такий там те теж ти то того тому у
        хто це цей цього цієї ця ці чи чим чого чому що щоб як яка яке який яких якого якої якому які якщо
        я""",
    "bg": """а ако аз без бе беше би били бил била било в вас ваш все всички вие във върху г ги го да дали до
        докато е един една едно за защо защото и из или им има как каква какво какъв както кога когато кое
        които кой който колко коя която къде към ли м ме между ми много му на над най не него нещо ни ние но
        някои няма о от още по под поради през при с са само се след сме със също така такъв там тази те тези
        ти то това този той тук тя у че чрез ще я""",
    "el": """αλλά αν ανάμεσα από αυτά αυτές αυτή αυτό αυτοί αυτός αυτού γιατί για δεν δύο εάν είναι είχε
        εκείνη εκείνο ενώ ένα έναν ένας ενός έχει έχουν ή ήταν η θα και κάθε κατά κι με μέσα μετά μη μια μία
        μιας μόνο να ο οι όπου όπως όταν ότι ποια ποιά ποιες ποιο ποιοι ποιον ποιος ποιός ποιους πολύ που πού
        πριν προς πόσα πόσες πόσο πόσοι πότε πρέπει πως πώς σαν σε στα στη στην στις στο στον στους τα τη την
        της τι τις το τον του τους των υπό χωρίς ως""",
    "ar": """أبو أثناء إذ إذا إلا إلى التي الذي الذين اللذان أم أما أن إن أنا أنت أنها أنه أو أي أين أية أيضا
        بعد بعض بل بها به بين تحت تلك ثم تم حتى حول حيث خلال دون ذات ذلك سوف ضد ضمن عام عبر عدد على عليها عليه
        عن عند عندما غير فقط فوق في فيها فيه قبل قد كان كانت كذلك كل كم كما كيف لا لأن لدى لذلك لكن لم لماذا
        لن له لها ليس ما ماذا متى مثل مع معظم من منذ منها منه نحو هذا هذه هل هم هنا هناك هو هي و وقد وكان ولا
        ولم وما ومن وهو وهي يكون يمكن""",
    "hi": """अपना अपनी अपने अब इन इनके इस इसका इसकी इसके इसमें इसे उन उनका उनकी उनके उन्हें उन्होंने उस उसका
        उसकी उसके उसे एक एवं ऐसे और कई कब कभी कर करता करते करना करने कहा कहाँ कहां का कि कितना कितनी कितने किन
        किया किस किसका किसकी किसके किसने किसी किसे की कुछ के कैसा कैसी कैसे को कोई कौन कौनसा कौनसी क्या क्यों
        गई गए गया जब जहाँ जा जाता जाती जाते जाना जाने जिन जिस जिसका जिसके जिसमें जिसे जैसे जो तक तथा तब तरह तो
        था थी थीं थे दिया दो द्वारा न नहीं ना नाम ने पर पहले फिर बहुत बाद भी मगर में मैं यदि यह यहाँ या ये रहा
        रही रहे लिए लिये लेकिन वह वहाँ वाला वाली वाले वे सकता सकते सभी साथ से हम हर ही हुआ हुई हुए है हैं हो
        होता होती होते होने""",
    "fa": """آن آنان آنها آیا از اگر اما این اینکه با باید بر برای برخی بعد بود بودند بوده به بی بین پس پیش تا
        توسط چرا چقدر چند چه چگونه چون چیست حتی خود داد دارد دارند داشت در دهد دو دیگر را روی زیر سپس شد شدند
        شده شود علیه غیر کجا کدام کدامند کرد کردند کرده کسی کند کنند که کی ما مانند مورد می میان نه نیز نیست
        ها های هر هم همان همه همین هیچ و وی یا یک یکی""",
}

#: ISO 639-1 code -> function words, folded as in the index.
STOP_WORDS: Final[Mapping[str, frozenset[str]]] = {
    language: frozenset(map(fold, words.split())) for language, words in _LISTS.items()
}

# A single word in Latin letters proves no language: `die` is English, too, and so is `comment`. Nor does a
# single letter.
_PROOF_WORDS = 2
_BEYOND_LATIN = "\u0370"
_PROOFS: Final[Mapping[str, frozenset[str]]] = {
    language: frozenset(form for word in words.split() if len(word) > 1 for form in (word, fold(word)))
    for language, words in _LISTS.items()
}
_HIRAGANA_PAIR: Final = re.compile("[\u3041-\u309f]{2}")
_ENGLISH: Final = _PROOFS["en"]
_OTHERS: Final = frozenset().union(*(words for language, words in _PROOFS.items() if language != "en"))

_ANY_PROOF: Final = _ENGLISH | _OTHERS


def language_of(words: Iterable[str]) -> str | None:
    """Return the ISO 639-1 code of the language that has most function words among `words`.

    Words are in lower case. Return None for fewer than two distinct function words, or than one outside the
    Latin script; ties go to English.
    """
    found = _ANY_PROOF.intersection(words)
    needed = 1 if max(found, default="") >= _BEYOND_LATIN else _PROOF_WORDS
    english = len(found & _ENGLISH)
    if len(found & _OTHERS) <= max(english, needed - 1):
        return "en" if english >= _PROOF_WORDS else None
    counts = Counter({language: len(found & proofs) for language, proofs in _PROOFS.items()})
    language, most = counts.most_common(1)[0]
    if most < needed:
        return None
    return "en" if english == most else language


def is_stop_word(term: str, language: str | None) -> bool:
    """Return whether each word of `term` is a stop word of the language, of English if unknown.

    Two hiragana count as a stop word: they are mostly grammatical.
    """
    if _HIRAGANA_PAIR.fullmatch(term):
        return True
    words = words_of(term)
    return bool(words) and STOP_WORDS.get(language or "en", frozenset()).issuperset(words)


def content_terms(terms: Sequence[str], language: str | None = None) -> tuple[str, ...]:
    """Return the terms without stop words of `language`, or all terms if nothing else is left.

    With None the language is detected from the terms.
    """
    known = language or language_of(chain.from_iterable(map(words_of, terms)))
    content = tuple(term for term in terms if not is_stop_word(term, known))
    return content or tuple(terms)
