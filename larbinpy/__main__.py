"""``larbinpy`` and ``python -m larbinpy``."""

import gc
import sys


def main() -> None:
    """Run the commands. Ctrl-C prints no traceback, even while modules are being loaded."""
    try:
        from larbinpy.cli import main as commands

        commands()
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        # Else the interpreter looks through all objects once more before it ends, for some 80 ms.
        gc.freeze()


if __name__ == "__main__":
    main()
