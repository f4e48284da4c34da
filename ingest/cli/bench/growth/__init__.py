"""How cost grows with the corpus: one workspace that is filled step by step, and measured at each size."""
