"""Words that say little about what a text is about, and how to leave them out of a relaxed query."""

from collections.abc import Sequence
from itertools import chain

from search.retrieval.scripts import tokens_of

# A single word of another list proves no language: `die` is English, too, and so is `comment`.
_PROOF_WORDS = 2


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ENGLISH = _words(
    """
    a about above after again all am an and any are as at be because been before being below between both
    but by can could did do does doing down during each few for from further had has have having he her
    here hers him his how i if in into is it its itself just me more most my no nor not of off on once
    only or other our out over own same she should so some such than that the their them then there these
    they this those through to too under until up very was we were what when where which while who whom
    why will with would you your
    """
)
GERMAN = _words(
    """
    aber als am an auch auf aus bei bin bis da damit das dass dem den der des die dies diese dieser dieses
    durch ein eine einem einen einer eines er es für gibt haben hat ich ihr im in ist kann kein keine man
    mit muss nach nicht noch nur ob oder ohne sein seine sich sie sind so über um und uns unter vom von
    vor war warum was welche welcher welches wenn wer werden wie wird wir wo wurde wurden zu zum zur
    """
)
FRENCH = _words(
    """
    à au aux avec c ce ces cet cette comment d dans de des du elle elles en est et il ils je l la le les
    leur leurs lors lui m mais n ne nous on ou où par pas pour pourquoi qu quand que quel quelle quelles
    quels qui quoi s sa sans se ses son sont sur un une vous y été être
    """
)


def content_terms(terms: Sequence[str]) -> tuple[str, ...]:
    """Drop the stop words of the query's language while other terms remain; else keep all.

    English is assumed unless more terms, and two at least, are stop words in German or in French.
    """
    words = [tuple(tokens_of(term)) for term in terms]
    stop_words = _language(list(chain.from_iterable(words)))
    content = tuple(
        term for term, tokens in zip(terms, words, strict=True) if not stop_words.issuperset(tokens)
    )
    return content or tuple(terms)


def _language(words: Sequence[str]) -> frozenset[str]:
    best, most = ENGLISH, max(_PROOF_WORDS - 1, sum(word in ENGLISH for word in words))
    for language in (GERMAN, FRENCH):
        count = sum(word in language for word in words)
        if count > most:
            best, most = language, count
    return best
