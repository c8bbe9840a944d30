"""``python -m whyclust``."""

from whyclust.command.cli import main

if __name__ == "__main__":
    main()
