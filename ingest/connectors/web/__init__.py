"""A web site as a source: its pages listed by their links or a sitemap, asked for again only when they may
have changed."""
