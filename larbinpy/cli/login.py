"""``larbinpy login``."""

import sys

import click

from larbinpy.cli.common import config_options, load_config, plain_errors
from larbinpy.console.text import printable
from larbinpy.exit_status import LOGIN_FAILED


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
