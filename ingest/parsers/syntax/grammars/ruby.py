"""Grammar of Ruby."""

from ingest.parsers.syntax.grammar import Grammar, children_of


def _ruby_language() -> object:
    from tree_sitter_ruby import language

    return language()


RUBY = Grammar(
    load=_ruby_language,
    query="""
    (module) @module
    (class) @class
    (method) @method
    (singleton_method) @method
    (comment) @leading
    """
    + children_of(
        "program",
        "body_statement",
        "block_body",
        "then",
        "else",
        "begin",
        "ensure",
        "rescue",
        "case",
        "do",
        "array",
        "hash",
    ),
)
