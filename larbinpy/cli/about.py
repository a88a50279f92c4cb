"""``--version``: the versions of larbinpy and of its libraries."""

import platform
from importlib.metadata import PackageNotFoundError, version

from larbinpy._version import __version__
from larbinpy.fetch import options as fetching
from larbinpy.parse import charset as parsing

#: Packages that `fetching` and `parsing` do not list.
_PACKAGES = ("ada-url", "click", "dnspython", "h11", "hiredis", "isal", "tqdm", "warcio")


def versions() -> list[str]:
    """Lines of text, the most important first."""
    return [
        f"larbinpy, version {__version__}",
        f"Python {platform.python_version()} on {platform.system()} {platform.machine()}",
        fetching.versions(),
        parsing.versions(),
        ", ".join(f"{name} {found}" for name in _PACKAGES if (found := _version(name))),
    ]


def _version(package: str) -> str:
    """Empty if the package was installed without its metadata."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
