"""Growth of costs with the corpus: one workspace filled step by step, and measured at each size."""
