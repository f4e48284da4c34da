"""The connector of web sites: pages found by links or a sitemap, and requested again only if they may have
changed."""
