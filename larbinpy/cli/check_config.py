"""``larbinpy check-config`` and ``larbinpy init``."""

import os
import sys
from collections.abc import Iterator
from importlib.resources import files as resources
from pathlib import Path

import click

from larbinpy.cli.common import complain, defaults_of, files, folders, plain_errors, set_option
from larbinpy.config import (
    DEFAULT_FILE,
    SETTINGS,
    ConfigError,
    Given,
    Origins,
    assignment,
    change,
    check,
    describe,
    in_environment,
    load,
)
from larbinpy.console.text import printable
from larbinpy.errors import USAGE


@click.command("check-config")
@click.argument("file", required=False, shell_complete=files)
@set_option
@click.option("--changed", is_flag=True, help="Print only settings that differ from the default.")
@click.option(
    "--state",
    metavar="DIR",
    help="Print what --resume of the crawl in DIR would use, and where each setting is from.",
    shell_complete=folders,
)
def check_config(
    file: str | None, settings: tuple[str, ...], changed: bool, state: str | None
) -> None:
    """Print all settings of a configuration, defaults included, or its errors.

    Without FILE it is larbin.conf in the working directory, as in a crawl.

    As in a crawl, --set and LARBINPY_KEY in the environment override FILE.
    """
    with plain_errors():
        if state is not None:
            for line in _of_crawl(state, file, settings, changed):
                click.echo(line)
            return
        overrides = [assignment(text) for text in settings]
        for name in in_environment(os.environ):
            click.echo(f"larbinpy: {name} is set in the environment", err=True)
        if file is None:
            found = os.path.lexists(DEFAULT_FILE)
            none = f"no {DEFAULT_FILE} here, so these are the defaults"
            complain(f"reading {DEFAULT_FILE}" if found else none)
        wrong = check(file, os.environ, overrides)
        for error in wrong:
            complain(error)
        if wrong:
            sys.exit(USAGE)
        config = load(file, os.environ, overrides)
        explained = _logins(config.login_file) if config.login_file else []
        for line in describe(config, only_changed=changed):
            click.echo(line)
        for line in explained:
            click.echo(f"# {printable(line)}")


def _logins(path: str) -> list[str]:
    """Lines about the logins of a file; exits with its errors if there are any."""
    # Here, since only a configuration with logins needs it.
    from larbinpy.login.file import examine, explained

    entries, wrong = examine(path)
    for error in wrong:
        complain(error)
    if wrong:
        sys.exit(USAGE)
    return [f"login at {explained(entry)}" for entry in entries]


def _of_crawl(
    state: str, file: str | None, settings: tuple[str, ...], changed: bool
) -> Iterator[str]:
    """The settings with which a crawl goes on, each with its source if it is not the default."""
    # Here, since only the settings of a crawl need it.
    from larbinpy.crawl.kept_options import kept_in
    from larbinpy.storage.state import State

    folder = Path(state)
    with State(folder).reading() as manifest:
        console = {str(key): str(text) for key, text in manifest.get("settings", {}).items()}
    given = Given.by(file, settings, False, ())
    now, earlier = given.keywords, kept_in(folder)
    whole = given if earlier is None else given.over(earlier)
    defaults = None if earlier is None else defaults_of(whole).config
    origins, config = Origins(whole, now, whole.values()), whole.config(defaults)
    set_there = {key for key in console if key.lower() not in now}
    for key in set_there:
        config = change(config, key, console[key])
    for line in describe(config, only_changed=changed):
        if "# CHANGED" not in line:
            yield line
            continue
        keyword = SETTINGS[line.split()[0].lstrip("#").lower()].keyword
        yield f"{line} (from {'the console' if keyword in set_there else origins.of(keyword)})"


@click.command()
@click.argument("file", default=DEFAULT_FILE, shell_complete=files)
def init(file: str) -> None:
    """Write a larbin.conf with every setting and a comment on each.

    FILE is larbin.conf in the working directory, if it is not given. A file that is there stays as
    it is.
    """
    with plain_errors():
        text = _example()
        try:
            with open(file, "x", encoding="utf-8") as out:
                out.write(text)
        except FileExistsError:
            raise ConfigError(f"{file} is there already; name another file, or remove it") from None
        click.echo(f"{file}: set From and startUrl, then larbinpy check-config and larbinpy crawl")


def _example() -> str:
    """The larbin.conf of the distribution: in the package, or at the top of a checkout."""
    package = resources("larbinpy")
    found = package / DEFAULT_FILE
    if not found.is_file():
        return (Path(str(package)).parent / DEFAULT_FILE).read_text(encoding="utf-8")
    return found.read_text(encoding="utf-8")
