"""Time formats of the admin by language, for Django's FORMAT_MODULE_PATH."""
