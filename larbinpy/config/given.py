"""The configuration that a user gave, and what of it a later run goes on with."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from larbinpy.config.config import SETTINGS, Config
from larbinpy.config.grammar import SITE, ConfigError, words_of
from larbinpy.config.kinds import Setting, ValueKind
from larbinpy.config.sources import (
    DEFAULT_FILE,
    FIRST_DECIDES,
    assigned,
    assignment,
    in_environment,
    load,
    values,
)

#: Keywords that choose the crawl itself, or begin it: each run gives them anew.
_OF_A_RUN = frozenset({"join", "node", "startUrl", "stateDir"})
#: Characters of an option that are shown.
_SHOWN = 60


class Given(NamedTuple):
    """A file, pairs of keyword and value as on the command line, and the environment."""

    config_file: str | None
    pairs: Sequence[tuple[str, str]]
    environ: Mapping[str, str] = os.environ
    #: Keywords that an earlier run had with a secret, which is not kept.
    withheld: Sequence[str] = ()

    @classmethod
    def by(
        cls,
        config_file: str | None,
        settings: Iterable[str],
        allow_private: bool = False,
        more: Iterable[tuple[str, str]] = (),
    ) -> "Given":
        """By the options of a command, and `more` that stand for keywords."""
        private = [("allowPrivate", "on")] if allow_private else []
        return cls(config_file, [*more, *map(assignment, settings), *private])

    @property
    def keywords(self) -> set[str]:
        """The keywords of the command line, in lower case."""
        return {keyword.lower() for keyword, _ in self.pairs}

    @property
    def has_file(self) -> bool:
        return self.config_file is not None or os.path.lexists(DEFAULT_FILE)

    def config(self, defaults: Config | None = None) -> Config:
        return load(self.config_file, self.environ, self.pairs, defaults)

    def values(self) -> dict[str, Any]:
        """The fields of the configuration that the user set; all others are assumed."""
        return values(self.config_file, self.environ, self.pairs)

    # These outlive a run.

    def kept(self) -> "Given":
        """Return what a later run goes on with: no secrets, nor what chooses or begins the crawl.

        The configuration is valid.
        """
        names = in_environment(self.environ)
        options = _in_force([(_row(keyword), text) for keyword, text in self.pairs])
        variables = [(_row(_keyword(name)), self.environ[name]) for name in names]
        secret = {
            row.keyword for row, text in options + variables if text and _holds_secret(row, text)
        }
        left = secret | _OF_A_RUN
        pairs = [(row.keyword, text) for row, text in options if row.keyword not in left]
        environ = {
            name: text
            for name, (row, text) in zip(names, variables, strict=True)
            if row.keyword not in left
        }
        return Given(self.config_file, pairs, environ, sorted(secret - _OF_A_RUN))

    def over(self, earlier: "Given") -> "Given":
        """This, and what `earlier` runs gave besides.

        An option replaces those of the same field before; but rules and site blocks come before
        the earlier ones, as they come before those of a file. Raises ConfigError for what is
        `withheld` and not given now.
        """
        now = self.values() if earlier.withheld else {}
        for keyword in earlier.withheld:
            if _row(keyword).attribute not in now:
                raise ConfigError(
                    f"{keyword}: an earlier run had it with a password or another secret, which is"
                    f" not kept; give it again, or --set {keyword}= to go on without it"
                )
        file = earlier.config_file if self.config_file is None else self.config_file
        before = self._left_of(earlier.pairs)
        # An empty text takes away what comes before it, so that of an earlier run comes first.
        pairs = [pair for pair in before if not pair[1]]
        pairs += [*self.pairs, *(pair for pair in before if pair[1])]
        return Given(file, pairs, {**earlier.environ, **self.environ})

    def beside(self, earlier: "Given") -> list[str]:
        """What `over` takes from `earlier`, each in a few words."""
        found = []
        if earlier.config_file and self.config_file is None:
            found.append(f"-c {earlier.config_file}")
        pairs = self._left_of(earlier.pairs)
        options = Given(None, [*self.pairs, *pairs])
        variables = [
            (_keyword(name), text)
            for name, text in earlier.environ.items()
            if name not in self.environ
        ]
        pairs += options._left_of(variables)
        for keyword, text in pairs:
            shown = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
            found.append(f"{_row(keyword).keyword} {shown or '(not set)'}")
        return found

    def _left_of(self, earlier: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """The `earlier` pairs that still count beside those of this."""
        now: dict[str, list[tuple[str, str]]] = {}
        for keyword, text in self.pairs:
            row = _row(keyword)
            now.setdefault(row.attribute, []).append((row.keyword, text))

        def counts(keyword: str, text: str) -> bool:
            row = _row(keyword)
            given = now.get(row.attribute, [])
            adds = row.attribute in FIRST_DECIDES and all(given_text for _, given_text in given)
            return not given or (adds and (row.keyword, text) not in given)

        return [pair for pair in earlier if counts(*pair)]

    # As JSON.

    def to_json(self) -> dict[str, Any]:
        return {
            "file": self.config_file,
            "options": [list(pair) for pair in self.pairs],
            "environment": dict(self.environ),
            "withheld": list(self.withheld),
        }

    @classmethod
    def of_json(cls, saved: Mapping[str, Any]) -> "Given":
        """Raises LookupError, TypeError, ValueError or ConfigError if `saved` is damaged."""
        file = None if saved["file"] is None else str(saved["file"])
        pairs = [(str(keyword), str(text)) for keyword, text in saved["options"]]
        environ = {str(name): str(text) for name, text in saved["environment"].items()}
        found = cls(file, pairs, environ, list(map(str, saved["withheld"])))
        for keyword in (*found.keywords, *map(_keyword, environ), *found.withheld):
            _row(keyword)
        return found


def _in_force(options: Sequence[tuple[Setting, str]]) -> list[tuple[Setting, str]]:
    """The `options` without those that a later empty text takes away."""
    since = {row.attribute: place for place, (row, text) in enumerate(options) if not text}
    return [
        option for place, option in enumerate(options) if place >= since.get(option[0].attribute, 0)
    ]


def _keyword(variable: str) -> str:
    return variable.partition("_")[2]


def _row(keyword: str) -> Setting:
    return SETTINGS[keyword.lower()]


def _holds_secret(row: Setting, text: str) -> bool:
    return _is_masked(row, assigned(row.keyword, text, "")[1])


def _is_masked(row: Setting, value: Any) -> bool:
    """Whether a part of `value` is not shown: the shown text is not parsed as the same value."""
    if row.kind is SITE:
        return any(_is_masked(each.row, each.value) for block in value for each in block.values)
    items = value if row.many else [] if value is None else [value]
    return any(_differs(row.kind, item) for item in items)


def _differs(kind: ValueKind[Any], item: Any) -> bool:
    try:
        return bool(kind.parse(*words_of(kind.show(item))) != item)
    except ValueError:
        return True
