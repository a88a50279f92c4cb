"""The style sheet and the script that each page has inline, and the icon: files of this folder."""

from base64 import b64encode
from hashlib import sha256
from importlib.resources import files


def _text(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """The source expression of an inline text (CSP level 3, 2.3.1)."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


STYLE, SCRIPT, ICON = _text("style.css"), _text("script.js"), _text("icon.svg")
STYLE_HASH, SCRIPT_HASH = _hash(STYLE), _hash(SCRIPT)
