"""``larbinpy`` and ``python -m larbinpy``."""

import sys


def main() -> None:
    """Run the commands. Ctrl-C prints no traceback, even while modules are being loaded."""
    try:
        from larbinpy.cli import main as commands

        commands()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
