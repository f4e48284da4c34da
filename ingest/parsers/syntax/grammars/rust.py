"""Grammar of Rust."""

from ingest.parsers.syntax.grammar import Grammar, children_of


def _rust_language() -> object:
    from tree_sitter_rust import language

    return language()


RUST = Grammar(
    load=_rust_language,
    query="""
    (function_item) @function
    (function_signature_item) @function
    (impl_item) @impl
    (struct_item) @struct
    (enum_item) @enum
    (union_item) @union
    (trait_item) @trait
    (mod_item body: (_)) @module
    (macro_definition) @macro
    (line_comment) @leading
    (block_comment) @leading
    (attribute_item) @leading
    """
    + children_of(
        "source_file",
        "block",
        "declaration_list",
        "field_declaration_list",
        "enum_variant_list",
        "match_block",
        "array_expression",
        "field_initializer_list",
    ),
)
