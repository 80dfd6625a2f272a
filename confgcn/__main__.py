"""``python -m confgcn`` and the command ``confgcn``."""

from __future__ import annotations

import signal


def run() -> None:
    """Start the command line."""
    # Until main() takes over: an interrupt inside an import would end in a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from confgcn.cli.main import main
    from confgcn.cli.streams import open_streams

    open_streams()
    main()


if __name__ == "__main__":
    run()
