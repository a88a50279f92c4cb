"""Removes query parameters for tracking and sessions from links (dropParameters)."""

import re
from collections.abc import Sequence
from fnmatch import translate

from larbinpy.url import resolve

#: Names of parameters that are remembered, and the length of the longest: a megabyte. Sites use
#: few names, hostile ones any number.
_REMEMBERED, _LONGEST = 10_000, 60

#: A parameter of a path segment (RFC 3986, 3.3), such as ``;jsessionid=4A2F``.
_PATH_PARAMETER = re.compile(r";([^;=/]*)[^;/]*")
#: Parameters are separated by "&", on some sites by ";" (HTML 4.01, B.2.2).
_SEPARATOR = re.compile("([&;])")


class Folding:
    """Makes one URL of all those that differ in dropped parameters only."""

    def __init__(self, names: Sequence[str]) -> None:
        """`names` are globs, in any case; they match the whole name of a parameter."""
        # No sets of characters: "[" is part of names such as filter[color].
        globs = (translate(name.lower().replace("[", "[[]")) for name in names)
        self._match = re.compile("|".join(globs)).match if names else None
        self._verdicts: dict[str, bool] = {}

    def __repr__(self) -> str:
        return f"<Folding {'on' if self._match else 'off'}>"

    def __bool__(self) -> bool:
        """Whether any parameter is dropped."""
        return self._match is not None

    def fold(self, url: str) -> str:
        """The canonical URL `url` without the dropped parameters. Idempotent."""
        if self._match is None or ("?" not in url and ";" not in url):
            return url
        head, _, query = url.partition("?")
        kept = self._kept(query) if self._has_dropped(query) else query
        path = self._path(head) if ";" in head else head
        if kept == query and path == head:
            return url
        # The rest may have dot segments: /a/..;jsessionid=1/b
        return resolve(f"{path}?{kept}" if kept else path) or url

    def dropped(self, url: str) -> list[str]:
        """The names of the parameters that `fold` removes from `url`, each once."""
        head, _, query = url.partition("?")
        names = [match[1] for match in _PATH_PARAMETER.finditer(head, head.index("/", 8))]
        names += [piece.partition("=")[0] for piece in _SEPARATOR.split(query)]
        return [name for name in dict.fromkeys(names) if self._drops(name)]

    def _drops(self, name: str) -> bool:
        verdict = self._verdicts.get(name)
        return self._judge(name) if verdict is None else verdict

    def _judge(self, name: str) -> bool:
        drops = self._match is not None and self._match(name.lower()) is not None
        if len(name) <= _LONGEST:
            if len(self._verdicts) >= _REMEMBERED:
                self._verdicts.clear()
            self._verdicts[name] = drops
        return drops

    def _has_dropped(self, query: str) -> bool:
        """Whether a parameter of `query` is dropped; for most URLs, none is."""
        if ";" in query:
            query = query.replace(";", "&")
        verdicts = self._verdicts
        for piece in query.split("&"):
            name = piece.partition("=")[0]
            verdict = verdicts.get(name)
            if verdict or (verdict is None and self._judge(name)):
                return True
        return False

    def _kept(self, query: str) -> str:
        pieces = _SEPARATOR.split(query)
        kept = ""
        for place in range(0, len(pieces), 2):
            if not self._drops(pieces[place].partition("=")[0]):
                kept += (pieces[place - 1] if kept else "") + pieces[place]
        return kept

    def _path(self, head: str) -> str:
        # A host may contain ";", too.
        origin = head.index("/", 8)
        return head[:origin] + _PATH_PARAMETER.sub(self._keep, head[origin:])

    def _keep(self, match: re.Match[str]) -> str:
        return "" if self._drops(match[1]) else match[0]
