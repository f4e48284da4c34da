"""Hash partitions by workspace: tables that grow with the corpus, cut into parts, on a filled database."""
