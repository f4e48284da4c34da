"""How the admin writes times: formats by language, for Django's FORMAT_MODULE_PATH."""
