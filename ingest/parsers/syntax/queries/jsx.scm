; markup in JavaScript and TypeScript
(jsx_element (_) @statement)
