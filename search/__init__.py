"""What is searchable, and searching it: the corpus, the mirror, embedders, retrieval, search API."""
