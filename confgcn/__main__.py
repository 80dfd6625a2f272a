"""``python -m confgcn``."""

from confgcn.cli.main import main

if __name__ == "__main__":
    main()
