"""A package, so that its tests share one stage, which goes when the last of them is over."""
