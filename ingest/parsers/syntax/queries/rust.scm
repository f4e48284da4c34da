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

(source_file (_) @statement)
(block (_) @statement)
(declaration_list (_) @statement)
(field_declaration_list (_) @statement)
(enum_variant_list (_) @statement)
(match_block (_) @statement)
(array_expression (_) @statement)
(field_initializer_list (_) @statement)
