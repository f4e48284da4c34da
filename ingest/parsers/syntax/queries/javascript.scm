; beside ecmascript.scm and jsx.scm
(field_definition value: [(arrow_function) (function_expression)]) @method
(decorator) @leading
