"""A measurement as a page with plots, beside the figures that both are made from."""
