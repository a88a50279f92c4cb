"""Where the checkout lies that is being tested."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
