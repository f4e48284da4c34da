"""Report of measurements: a page with plots, and the figures that both are generated from."""
