"""Commands that talk to a server, each the module of its name; `kebab.cli.catalogue` lists them all."""
