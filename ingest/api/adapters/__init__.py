"""Uploads as the interfaces of other products make them."""
