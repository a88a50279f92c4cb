"""The URLs that pages name most, so that they need not be looked up among all seen ones."""

from collections.abc import Iterable, Sequence

from larbinpy.parse import Link

#: URLs that are kept at most (7 MB), and the length of the longest.
_MOST = 50_000
_LONGEST = 256


class RecentLinks:
    """Some seen URLs, by their text: the most recently linked ones.

    Links that a site's pages have in common are on each of them, and a fingerprint costs ten
    times as much as a lookup here. "Efficient URL caching for World Wide Web crawling"
    (Broder, Najork and Wiener, 2003) finds four links of five with as many entries, whichever
    way the most recent ones are found. Here there are two halves: when the younger one is
    full, the elder one is dropped.
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
        """The `links` that are not known here."""
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
        """Keep `urls`, which were all seen."""
        self._younger.update([url for url in urls if len(url) <= _LONGEST])
        if len(self._younger) >= self._half:
            self._elder, self._younger = self._younger, set()
