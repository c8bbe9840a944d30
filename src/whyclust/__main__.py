"""``python -m whyclust``."""

from whyclust.cli import main

if __name__ == "__main__":
    main()
