"""Requests generated from the OpenAPI document, valid and invalid: no answer may be a 5xx or violate it."""
