"""``larbinpy demo``."""

import signal
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from larbinpy.cli.common import plain_errors, progress_option
from larbinpy.config import ConfigError, load
from larbinpy.crawl.crawl import Crawl
from larbinpy.demo import FIRST_LINE, serve
from larbinpy.storage.state import Start


@click.command()
@click.option("-o", "directory", metavar="DIR", help="Keep mirror and log there.")
@progress_option
def demo(directory: str | None, progress: str) -> None:
    """Crawl and mirror an embedded web, on loopback: no network is needed."""
    with plain_errors(), ExitStack() as closing:
        if directory:
            _check_own(Path(directory))
        # As Ctrl-C: what was made is removed.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        folder = Path(directory or closing.enter_context(TemporaryDirectory("", "larbinpy-demo-")))
        web = closing.enter_context(serve())
        folder.mkdir(parents=True, exist_ok=True)
        conf = folder / "larbin.conf"
        conf.write_text(web.conf(folder / "mirror", folder / "state"))
        click.echo(f"larbinpy crawl -c {conf}")
        crawl = Crawl(load(str(conf), {}, ()), start=Start.SCRATCH, progress=progress)
        code = crawl.run()
        _tell(crawl.report)
        if directory:
            click.echo(f"mirror: {folder / 'mirror'}\nlog:    {folder / 'state' / 'crawl.jsonl'}")
        else:
            click.echo("All it wrote is removed; larbinpy demo -o DIR keeps mirror and log.")
        sys.exit(code)


def _check_own(folder: Path) -> None:
    """Refuse what the demo would write over, or forget, unless that is of a demo."""
    conf = folder / "larbin.conf"
    if conf.is_file() and conf.read_bytes().startswith(FIRST_LINE.encode()):
        return
    for there in (conf, folder / "state", folder / "mirror"):
        if there.exists():
            raise ConfigError(f"{there}: not the demo's, so it is left alone; name another folder")


def _tell(report: dict[str, Any]) -> None:
    """A report in some lines."""
    click.echo(
        f"{report['stop_reason']}: {report['pages']} pages of {report['sites']} sites "
        f"on {report['addresses']} addresses in {report['elapsed_s']} s, "
        f"{report['links']} links, {report['retries']} retries"
    )
    for name, count in report["outcomes"].items():
        if count:
            click.echo(f"  {name:<16}{count:>6}")
