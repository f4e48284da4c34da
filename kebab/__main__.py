"""The entry point `kebab`."""

from kebab.cli.main import main

if __name__ == "__main__":
    main()
