"""Which media types are fetched, decided from the headers before the body is received."""

from collections.abc import Sequence

from larbinpy.config import Config
from larbinpy.fetch.settings import Refusal
from larbinpy.outcome import Outcome

#: Types that may have links: pages, feeds and sitemaps, and documents without a type.
_PAGES = frozenset(
    {
        "",
        "text/html",
        "application/xhtml+xml",
        "application/xml",
        "text/xml",
        "application/rss+xml",
        "application/atom+xml",
        "application/rdf+xml",
    }
)
#: Types of sitemaps that are compressed, or plain lists of URLs.
SITEMAPS = frozenset(
    {"application/gzip", "application/x-gzip", "application/octet-stream", "text/plain"}
)


def any_reply(media_type: str, size: int | None) -> Refusal | None:
    """Accepts every media type and size."""
    return None


class Types:
    """The types that anyType, getImage and specificSearch admit besides pages."""

    def __init__(self, *, any_type: bool, get_image: bool, specific: Sequence[str]) -> None:
        self._any_type = any_type
        self._get_image = get_image
        #: Prefixes, as Larbin compares them: `audio/` takes all audio.
        self._specific = tuple(prefix.lower() for prefix in specific)

    def refuse(self, url: str, media_type: str) -> Outcome | None:
        """badType if `media_type` (lower case, no parameters) is not wanted, else None."""
        if self._any_type or media_type in _PAGES or self.specific(media_type):
            return None
        if self._get_image and media_type.startswith("image/"):
            return None
        return None if _may_be_sitemap(url, media_type) else Outcome.BAD_TYPE

    def specific(self, media_type: str) -> bool:
        """Whether it is one of the types of specificSet."""
        return bool(self._specific) and media_type.startswith(self._specific)


def _may_be_sitemap(url: str, media_type: str) -> bool:
    """Whether type and name together suggest a sitemap; neither is enough alone."""
    file = url.partition("?")[0].rpartition("/")[2].lower()
    return media_type in SITEMAPS and ("sitemap" in file or file.endswith(".xml.gz"))


def make_types(config: Config) -> Types:
    """The media types that a configuration asks for."""
    return Types(
        any_type=config.any_type,
        get_image=config.get_image,
        specific=[media_type for media_type, _ in specific(config)],
    )


def specific(config: Config) -> Sequence[tuple[str, str]]:
    """The media types of specificSet and their file extensions, if specificSearch is on."""
    return config.specific_set if config.specific_search else ()
