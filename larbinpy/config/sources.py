"""The sources of settings: larbin.conf, the environment, the command line, and live changes.

`texts` has all settings and their values as text. `Given` is what a user gave, and what of it a
later run goes on with.
"""

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from larbinpy.config.config import LIVE, SETTINGS, Config
from larbinpy.config.grammar import (
    SITE,
    ConfigError,
    Report,
    at_once,
    read,
    read_blocks,
    read_value,
    unknown,
    words_of,
)
from larbinpy.config.kinds import (
    FLEET,
    UTF_16,
    Setting,
    ValueKind,
    check_certificate,
    decoded,
    has_fleet_password,
)
from larbinpy.errors import product_token
from larbinpy.native import NO_SCAN

#: Read if no file is named.
DEFAULT_FILE = "larbin.conf"

_ENVIRONMENT = "LARBINPY_"
#: Variables with that beginning which are no settings: that of the compiled scan, the version of an
#: image, and those that Kubernetes and Docker set for a service that is called larbinpy.
_SET_BY_OTHERS = re.compile(
    rf"{NO_SCAN}|LARBINPY_(?:VERSION|NAME|ENV_.*|SERVICE_(?:HOST|PORT.*)|PORT(?:_\d+_(?:TCP|UDP).*)?)"
)
#: Errors that `check` reports; a file with more is probably not a configuration.
_MOST_ERRORS = 50
#: Attributes of lists in which the first item that applies decides.
FIRST_DECIDES = ("site_blocks", "rules")
#: Why a password is refused on the command line.
_SEEN = (
    "a password there could be seen by other users of this machine; give the address in "
    "LARBINPY_JOIN or in the configuration file, or name a file with ?passwordFile=PATH"
)
#: The name of a file that stands for standard input.
STANDARD_INPUT = "-"
# Room for 100,000 seeds.
_MAX_FILE = 10 << 20


def load(
    path: str | None,
    environ: Mapping[str, str],
    overrides: Iterable[tuple[str, str]],
    defaults: Config | None = None,
) -> Config:
    """The configuration: `overrides`, then `environ`, then the file, then `defaults`.

    The file is `path`, or larbin.conf in the working directory if there is one.
    `overrides` are pairs of keyword and value, as on the command line; an empty value
    restores the default. Raises ConfigError, and nothing else.
    """
    return _load(path, environ, overrides, at_once, defaults or Config())


def values(
    path: str | None, environ: Mapping[str, str], overrides: Iterable[tuple[str, str]]
) -> dict[str, Any]:
    """The fields of `Config` that these sources set, also those set to the default value."""
    return _values(path, environ, overrides, at_once, Config())


def check(
    path: str | None, environ: Mapping[str, str], overrides: Iterable[tuple[str, str]]
) -> list[ConfigError]:
    """All errors in a configuration; `load` raises only the first."""
    wrong: list[ConfigError] = []

    def report(error: ConfigError) -> None:
        if len(wrong) == _MOST_ERRORS:
            raise ConfigError("more errors follow; fix these first")
        wrong.append(error)

    try:
        _load(path, environ, overrides, report, Config())
    except ConfigError as error:
        wrong.append(error)
    return wrong


def _load(
    path: str | None,
    environ: Mapping[str, str],
    overrides: Iterable[tuple[str, str]],
    report: Report,
    defaults: Config,
) -> Config:
    return _consistent(replace(defaults, **_values(path, environ, overrides, report, defaults)))


def _values(
    path: str | None,
    environ: Mapping[str, str],
    overrides: Iterable[tuple[str, str]],
    report: Report,
    defaults: Config,
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if path == STANDARD_INPUT:
        found |= read(_standard_input(), "standard input", SETTINGS, report)
    elif path is not None or os.path.lexists(DEFAULT_FILE):
        name = DEFAULT_FILE if path is None else path
        found |= read(_text(name), name, SETTINGS, report)
    for given in (_from_environment(environ, report), _from_overrides(overrides, report, defaults)):
        # The first block that sets a keyword decides, and the first rule that matches, so those of
        # the stronger source come first.
        for name in FIRST_DECIDES:
            if given.get(name):
                given[name] = tuple(dict.fromkeys(given[name] + found.get(name, ())))
        found |= given
    return found


def _consistent(config: Config) -> Config:
    output, state = (os.path.realpath(d) for d in (config.output_dir, config.state_dir))
    if os.path.commonpath((output, state)) == state:
        raise ConfigError(
            f"outputDir {config.output_dir} is inside stateDir {config.state_dir}: pages could "
            "overwrite the state; set another outputDir"
        )
    try:
        check_certificate(config.client_cert, config.client_key)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    # A file written for Larbin, which has no maxWait, may set a longer waitDuration.
    return replace(config, max_wait=max(config.max_wait, config.wait_duration))


@cache
def _standard_input() -> str:
    """The text of the standard input, which can be read once."""
    return _text("/dev/stdin")


def _text(name: str) -> str:
    """The text of a file; bytes that are not UTF-8 are accepted, as comments may contain them."""
    try:
        with open(name, "rb") as file:
            data = file.read(_MAX_FILE + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(
            f"{name}: cannot be read: {reason}; check its name and permissions"
        ) from None
    if len(data) > _MAX_FILE:
        raise ConfigError(f"{name}: larger than 10 MB, so not a configuration")
    if b"\0" in data and data[:2] not in UTF_16:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise ConfigError(f"{name}:{line}: not a text file; check its name")
    return decoded(data, "replace" if data[:2] in UTF_16 else "surrogateescape")


def _reject_last(item: tuple[str, str]) -> bool:
    """Sorts LARBINPY_REJECT behind LARBINPY_ACCEPT: the environment has no order."""
    return item[0].upper() == f"{_ENVIRONMENT}REJECT"


def in_environment(environ: Mapping[str, str]) -> list[str]:
    """The names of the environment variables that set a keyword."""
    return [
        name
        for name, text in sorted(environ.items(), key=_reject_last)
        if name.startswith(_ENVIRONMENT) and text and not _SET_BY_OTHERS.fullmatch(name)
    ]


def _from_environment(environ: Mapping[str, str], report: Report) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name in in_environment(environ):
        keyword, where = name.removeprefix(_ENVIRONMENT), f"environment {name}"
        try:
            row, value = assigned(keyword, environ[name], where)
        except ConfigError as error:
            report(error)
        else:
            values[row.attribute] = _joined(values, row, value)
    return values


def _joined(values: Mapping[str, Any], row: Setting, value: Any) -> Any:
    """`value` behind the earlier items of a list, each once."""
    if not row.many:
        return value
    return tuple(dict.fromkeys(values.get(row.attribute, ()) + value))


def _from_overrides(
    overrides: Iterable[tuple[str, str]], report: Report, defaults: Config
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for keyword, text in overrides:
        where = f"command line, {keyword[:60]}"
        try:
            row, value = assigned(keyword, text, where)
            if row.kind is FLEET and has_fleet_password(text):
                raise ConfigError(f"{where}: {_SEEN}")
        except ConfigError as error:
            report(error)
            continue
        default = getattr(defaults, row.attribute)
        values[row.attribute] = _joined(values, row, value) if text else default
    return values


def assigned(keyword: str, text: str, where: str) -> tuple[Setting, Any]:
    """The setting `keyword`, and the value that is `text`. Raises ConfigError."""
    row = SETTINGS.get(keyword.lower())
    if row is None:
        raise ConfigError(f"{where}: {unknown(keyword, SETTINGS)}")
    source = where.partition(",")[0]
    if row.kind is SITE and text:
        return row, read_blocks(text, row, SETTINGS, source)
    try:
        return row, read_value(text, row, source) if text else row.default
    except ValueError as error:
        raise ConfigError(f"{where}: {error}") from None


def assignment(text: str) -> tuple[str, str]:
    """KEY=VALUE as a pair for `load`; KEY alone turns a switch on. Raises ConfigError."""
    keyword, equals, value = text.partition("=")
    keyword = keyword.strip()
    if not keyword:
        raise ConfigError(f"command line, {text[:60]!r}: no keyword; expected KEY=VALUE")
    row = SETTINGS.get(keyword.lower())
    words = keyword.split(None, 1)
    if not equals and words[0].lower() in SETTINGS and len(words) > 1:
        wanted = f"{words[0]}={words[1][:60]}"
        raise ConfigError(f"command line, {text[:60]!r}: expected KEY=VALUE, so {wanted}")
    if row is not None and row.kind.words and not equals:
        wanted = f"{row.keyword}={row.kind.usage}"
        raise ConfigError(f"command line, {keyword}: its value is missing; expected {wanted}")
    return keyword, value if equals else "on"


def change(config: Config, keyword: str, text: str) -> Config:
    """`config` with one live setting changed. Raises ConfigError."""
    if keyword.lower() in SETTINGS and keyword.lower() not in LIVE:
        may = ", ".join(row.keyword for row in LIVE.values())
        raise ConfigError(f"{keyword} cannot change while a crawl runs; these can: {may}")
    if keyword.lower() not in SETTINGS:
        raise ConfigError(unknown(keyword, SETTINGS))
    if not text.strip():
        raise ConfigError(f"{keyword[:60]}: its value is missing")
    row, value = assigned(keyword, text, keyword[:60])
    return _consistent(replace(config, **{row.attribute: value}))


def texts(config: Config) -> dict[str, str]:
    """Keyword -> its value in one line, for pages and snapshots."""
    return {row.keyword: row.text(getattr(config, row.attribute)) for row in SETTINGS.values()}


def describe(config: Config, *, only_changed: bool = False) -> list[str]:
    """`config` as lines of an equivalent larbin.conf, defaults included.

    Each line has the help of its setting as a comment, and its default if it differs. With
    `only_changed`, settings with their default value are left out.
    """
    lines = []
    for row in SETTINGS.values():
        value = getattr(config, row.attribute)
        default = row.text(row.default) or "none"
        is_changed = row.own(value) != row.default
        if only_changed and not is_changed:
            continue
        changed = f"CHANGED (default {default}): " if is_changed else ""
        if row.kind is SITE and value:
            lines += [
                f"# {changed}{row.help}",
                *(line for block in value for line in block.lines()),
            ]
        else:
            for line in row.lines(value):
                shown = SETTINGS[line.split()[0].lstrip("#").lower()]
                lines.append(f"{line:<31} # {changed}{shown.help}{_robots_name(row, value)}")
    return lines


def _robots_name(row: Setting, value: object) -> str:
    """The name of the crawler in robots.txt, for the help of UserAgent; else empty."""
    if row.attribute != "user_agent":
        return ""
    name = product_token(str(value))
    return f"; robots.txt calls it {name}" if name else "; robots.txt has no name for it, only *"


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
        if file == STANDARD_INPUT != self.config_file:
            raise ConfigError(
                "an earlier run had its configuration from standard input, which is not kept; give"
                " it again with -c"
            )
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


class Origins(NamedTuple):
    """Where the settings of a run come from."""

    #: What was given now and in the runs before; None if that is not known.
    given: Given | None = None
    #: The keywords of the command line of this run.
    fixed: Collection[str] = ()
    #: The fields that the user set in any place; None if that is not known.
    written: Collection[str] | None = None

    def of(self, keyword: str) -> str:
        """What set `keyword`, which does not have its default, in a few words; empty if unknown."""
        row = _row(keyword)
        if _row_in(row, self.fixed):
            return "the command line"
        if self.given is None:
            return ""
        if _row_in(row, self.given.keywords):
            return "an option of an earlier run"
        for name in in_environment(self.given.environ):
            if _row_in(row, [_keyword(name)]):
                return f"environment {name}"
        is_ours = self.written is not None and row.attribute not in self.written
        return "a default of this command" if is_ours else self.given.config_file or DEFAULT_FILE


#: Of a crawl that a program makes.
UNKNOWN = Origins()


def _row_in(row: Setting, keywords: Iterable[str]) -> bool:
    """Whether one of `keywords` sets the field of `row`."""
    return any(_row(keyword).attribute == row.attribute for keyword in keywords)
