"""``larbinpy fetch``.

``larbinpy login``.
"""

import json
import sys
from collections.abc import Mapping

import click

from larbinpy.cli.common import (
    NOTHING,
    complain,
    config_options,
    load_config,
    option_value,
    plain_errors,
    servers_option,
)
from larbinpy.config import SETTINGS
from larbinpy.console.text import printable
from larbinpy.errors import LOGIN_FAILED
from larbinpy.outcome import Outcome, cure, reason
from larbinpy.url import fault


@click.command()
@click.argument("url")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@servers_option
@click.option("--max-size", metavar="BYTES", help="Bytes of the page that are read.")
@config_options
def fetch(
    url: str,
    as_json: bool,
    servers: tuple[str, ...],
    max_size: str | None,
    config_file: str | None,
    settings: tuple[str, ...],
    allow_private: bool,
) -> None:
    """Fetch one URL through resolver, fetcher and parser; show what each of them finds."""
    # Here, since a login needs other modules.
    from larbinpy.crawl.single import fetch_one

    with plain_errors():
        more = [("dnsServer", server) for server in servers]
        if max_size is not None:
            size = option_value("--max-size", max_size, SETTINGS["maxpagesize"].kind)
            more.append(("maxPageSize", str(size)))
        page = fetch_one(url, load_config(config_file, settings, allow_private, more))
        if as_json:
            click.echo(json.dumps(page))
        else:
            for key, value in page.items():
                shown = value if not isinstance(value, list) else "\n  ".join(["", *value])
                click.echo(printable_lines(f"{key}: {'-' if shown is None else shown}"))
        if hint := _hint(page, url):
            complain(f"{page['url']}: {hint}")
        sys.exit(NOTHING if page["status"] is None else 0)


def _hint(page: Mapping[str, object], url: str) -> str:
    """Why there is no page of `url`, and the cure; empty if there is a reply."""
    if page["outcome"] == Outcome.BAD_URL.value:
        return fault(url)
    outcome, detail, status = str(page["outcome"]), str(page["detail"] or ""), page["status"]
    remedy = cure(outcome, detail)
    if status is not None and not remedy:
        return ""
    why = reason(outcome, status if isinstance(status, int) else None, detail)
    return "; ".join(filter(None, (why, remedy)))


def printable_lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))


@click.command()
@click.argument("url")
@config_options
def login(
    url: str, config_file: str | None, settings: tuple[str, ...], allow_private: bool
) -> None:
    """Try the login of loginFile for the site of URL, and say what is seen.

    Makes the requests of the login, and asks for URL; prints each request, the fields of forms,
    markers, and the names of cookies. Keeps nothing. The exit status is 0 if it is logged in, 6 if
    not, or if that is not certain.
    """
    # Here, since only this command needs libcurl.
    from larbinpy.crawl.login_trial import try_login

    with plain_errors():
        config = load_config(config_file, settings, allow_private)
        is_in = try_login(url, config, lambda line: click.echo(printable(line)))
    sys.exit(0 if is_in else LOGIN_FAILED)
