(function_definition) @function
(struct_specifier name: (_) body: (_)) @struct
(union_specifier name: (_) body: (_)) @union
(enum_specifier name: (_) body: (_)) @enum
(type_definition) @type
(preproc_function_def) @macro
(comment) @leading

(translation_unit (_) @statement)
(compound_statement (_) @statement)
(case_statement (_) @statement)
(field_declaration_list (_) @statement)
(enumerator_list (_) @statement)
(initializer_list (_) @statement)
(linkage_specification (_) @statement)
(declaration_list (_) @statement)
(preproc_if (_) @statement)
(preproc_ifdef (_) @statement)
(preproc_else (_) @statement)
(preproc_elif (_) @statement)
