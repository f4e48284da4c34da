"""Hash partitioning by workspace of the tables that grow with the corpus, on a filled database."""
