"""Reads loginFile: TOML, with a table ``[[login]]`` for each site.

An error names the file, the number of the table, its site and the key, and shows no secret.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from larbinpy.config import ConfigError
from larbinpy.login import secrets
from larbinpy.login.login_table import KEYS, Entry, Table
from larbinpy.login.spec import Login

#: Room for some thousand logins (bytes).
_MOST = 1 << 20
#: The end of an error of tomllib.
_PLACE = re.compile(r" \(at line (\d+), column \d+\)$")


def read(
    path: str,
    environ: Mapping[str, str] = os.environ,
    ask: secrets.Prompt = secrets.terminal,
    *,
    only: str = "",
) -> tuple[Login, ...]:
    """The logins of a file. Raises ConfigError with the first thing that is wrong.

    `only` is the key of a site: nothing is asked for the logins of others, which are left out. The
    process leaves no core file from here on.
    """
    secrets.leave_no_core()
    entries, wrong = examine(path, environ)
    if wrong:
        raise wrong[0]
    return tuple(
        _asked(entry, f"{path}: login {number} ({entry.login.site})", ask)
        for number, entry in enumerate(entries, 1)
        if only in ("", entry.login.site)
    )


def examine(
    path: str, environ: Mapping[str, str] = os.environ
) -> tuple[list[Entry], list[ConfigError]]:
    """The logins of a file, and all that is wrong with it. Nothing is asked for."""
    try:
        data, status = _data(path)
        tables, wrong = _tables(path, secrets.decoded(data, path))
    except ValueError as error:
        return [], [ConfigError(str(error))]
    entries, sites = [], dict[str, int]()
    has_secret = False
    for number, values in enumerate(tables, 1):
        table = Table(values, Path(path).parent, environ)
        entry = table.entry()
        entries += [entry] if entry else []
        has_secret |= table.has_secret
        if table.site and sites.setdefault(table.site, number) != number:
            table.wrong.append(("site", f"login {sites[table.site]} is for the same site"))
        where = f"{path}: login {number}" + (f" ({table.site})" if table.site else "")
        wrong += [
            f"{where}: {key}: {reason}" if key else f"{where}: {reason}"
            for key, reason in table.wrong
        ]
    if has_secret:
        try:
            secrets.check_private(path, status)
        except ValueError as error:
            wrong.insert(0, str(error))
    return entries, [ConfigError(line) for line in wrong]


def login_pages(path: str) -> dict[str, str]:
    """The address of the login page of each site in a file, empty for none, by site.

    No secret is needed. Raises ConfigError if the file cannot be read; an error in a table does
    not matter.
    """
    secrets.leave_no_core()
    try:
        data, _ = _data(path)
        tables, _ = _tables(path, secrets.decoded(data, path))
    except ValueError as error:
        raise ConfigError(str(error)) from None
    doors = (Table(values, Path(path).parent, {}).door() for values in tables)
    return {site: page for site, page in doors if site}


def explained(entry: Entry) -> str:
    """A login in one line, without its secrets."""
    login, places = entry.login, entry.places
    method = login.method.value + (f" ({login.grant})" if login.grant else "")
    at = login.page or login.token_url
    parts = [f"{login.site}: {method} at {at}" if at else f"{login.site}: {method}"]
    parts += [f"form also sent to {' and '.join(login.also)}"] if login.also else []
    shown = {"user": login.user, "clientId": login.client_id}
    parts += [
        f"{key} {places.get(key, value)}" for key, value in shown.items() if value or key in places
    ]
    parts += [f"{key} {place}" for key, place in places.items() if key not in shown]
    parts += [f"file {login.file}"] if login.file else []
    parts += [f"logged in with {login.logged_in!r}"] if login.logged_in else []
    parts += [f"logged out with {login.logged_out!r}"] if login.logged_out else []
    parts += [] if login.logged_in or login.logged_out else ["no marker"]
    parts += [f"checked at {login.check}"] if login.check else []
    return ", ".join(parts)


def _data(path: str) -> tuple[bytes, os.stat_result]:
    try:
        with open(path, "rb") as file:
            data = file.read(_MOST + 1)
            status = os.fstat(file.fileno())
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}") from None
    if len(data) > _MOST:
        raise ValueError(f"{path}: larger than 1 MB, so not a file of logins")
    return data, status


def _tables(path: str, text: str) -> tuple[list[Any], list[str]]:
    """The values of the tables, and the errors beside them; ValueError if there are none."""
    document: dict[str, Any] = {}
    reason = ""
    try:
        document = tomllib.loads(text)
    except RecursionError:
        reason = f"{path}: too deeply nested"
    except ValueError as error:
        place = _PLACE.search(str(error))
        line = f":{place[1]}" if place else ""
        reason = f"{path}{line}: not valid TOML: {_PLACE.sub('', str(error))}"
    # Raised here, so that it does not have the error of tomllib, which may have the text.
    if reason:
        raise ValueError(reason)
    tables = document.pop("login", [])
    if not isinstance(tables, list):
        raise ValueError(f"{path}: login is one table; write [[login]]")
    wrong = [
        f"{path}: {key[:60]}: unknown key; each login is a table [[login]]" for key in document
    ]
    if not tables and not wrong:
        raise ValueError(f"{path}: no login in it; each is a table [[login]]")
    return tables, wrong


def _asked(entry: Entry, where: str, ask: secrets.Prompt) -> Login:
    """The login with the secrets for which the user is asked."""
    login = entry.login
    for key, place in entry.places.items():
        if place != secrets.described(secrets.ASK):
            continue
        try:
            value = secrets.checked(ask(f"{login.site}: {key}: "))
            if not value:
                raise ValueError("nothing was typed")
        except ValueError as error:
            raise ConfigError(f"{where}: {key}: {error}") from None
        name = key.partition(".")[2]
        fields = {"fields": {**login.fields, name: value}} if name else {KEYS[key]: value}
        login = replace(login, **fields)
    return login
