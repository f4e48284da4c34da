"""The corpus and its search: models, mirror, vectors, embedders, retrieval, API and pages."""
