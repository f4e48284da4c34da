; beside c.scm
(namespace_definition) @namespace
(class_specifier name: (_) body: (_)) @class
(concept_definition) @concept
(template_declaration [
  (function_definition) (class_specifier) (struct_specifier) (union_specifier)
  (concept_definition)]) @wrapper
