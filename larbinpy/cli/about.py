"""``--version``: which larbinpy this is, and what it stands on."""

import platform
from importlib.metadata import PackageNotFoundError, version

from larbinpy._version import __version__
from larbinpy.fetch import about as fetching
from larbinpy.parse import about as parsing

#: What tells its version nowhere else.
_PACKAGES = ("ada-url", "click", "dnspython", "h11", "isal", "tqdm", "warcio")


def versions() -> list[str]:
    """Lines of words, what matters most first."""
    return [
        f"larbinpy, version {__version__}",
        f"Python {platform.python_version()} on {platform.system()} {platform.machine()}",
        fetching.versions(),
        parsing.versions(),
        ", ".join(f"{name} {found}" for name in _PACKAGES if (found := _version(name))),
    ]


def _version(package: str) -> str:
    """Empty where the package was put there without its metadata."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
