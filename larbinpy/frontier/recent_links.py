"""A cache of the URLs that pages link to most, in front of the set of all URLs seen."""

from collections.abc import Iterable, Sequence

from larbinpy.parse import Link

#: Most URLs that are kept (7 MB), and the length of the longest.
_MOST = 50_000
_LONGEST = 256


class RecentLinks:
    """Some seen URLs, as text: the most recently linked ones.

    Links that a site's pages have in common are on each of them, and computing a fingerprint
    takes ten times as long as a lookup here. With as many entries, "Efficient URL caching for
    World Wide Web crawling" (Broder, Najork and Wiener, 2003) reports four hits of five, for
    several ways to keep the most recent URLs. Here there are two halves: when the younger one
    is full, the elder one is dropped.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._half = most // 2
        self._younger: set[str] = set()
        self._elder: set[str] = set()

    def __repr__(self) -> str:
        return f"<RecentLinks {len(self)} URLs>"

    def __len__(self) -> int:
        return len(self._younger | self._elder)

    def others(self, links: Sequence[Link]) -> list[Link]:
        """The `links` that are not in the cache."""
        younger, elder = self._younger, self._elder
        others = []
        for link in links:
            url = link.url
            if url not in younger:
                if url in elder:
                    younger.add(url)
                else:
                    others.append(link)
        return others

    def learn(self, urls: Iterable[str]) -> None:
        """Add `urls`, which must have been seen."""
        self._younger.update([url for url in urls if len(url) <= _LONGEST])
        if len(self._younger) >= self._half:
            self._elder, self._younger = self._younger, set()
