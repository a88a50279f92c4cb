"""``larbinpy`` and ``python -m larbinpy``."""

import sys


def main() -> None:
    """Run the commands; Ctrl-C while they are still being loaded is no traceback either."""
    try:
        from larbinpy.cli import main as commands

        commands()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
