"""Grammar of Java."""

from ingest.parsers.syntax.grammar import Grammar, children_of


def _java_language() -> object:
    from tree_sitter_java import language

    return language()


JAVA = Grammar(
    load=_java_language,
    query="""
    (class_declaration) @class
    (interface_declaration) @interface
    (enum_declaration) @enum
    (record_declaration) @record
    (annotation_type_declaration) @annotation
    (method_declaration) @method
    (constructor_declaration) @constructor
    (compact_constructor_declaration) @constructor
    (line_comment) @leading
    (block_comment) @leading
    """
    + children_of(
        "program",
        "block",
        "constructor_body",
        "class_body",
        "interface_body",
        "annotation_type_body",
        "enum_body",
        "enum_body_declarations",
        "switch_block",
        "switch_block_statement_group",
        "array_initializer",
    ),
)
