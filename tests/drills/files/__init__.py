"""Reading of real files: what comes of each, by format."""
