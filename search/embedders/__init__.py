"""Turning text into vectors: the default model, and the embedders `hash` and `none`. Imports no Django."""
