"""``python -m larbinpy`` is ``larbinpy``."""

from larbinpy.cli import main

main()
