"""Commands of scripts/experiments/search."""

from contextlib import nullcontext
from pathlib import Path

import click

from experiments import searchcrawled, searchpages, searchscores, searchtimes

file_argument = click.argument("file", type=click.Path(path_type=Path))
suites_option = click.option(
    "--suites",
    envvar="LARBINPY_SUITES",
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with the suites main-text and chinese-search, which give the words.",
)
folder = click.Path(exists=True, file_okay=False, path_type=Path)


@click.group()
def main() -> None:
    """Experiments with searching: its speed, and how well it finds known pages."""


@main.command("make")
@file_argument
@click.option("--pages", default=100_000, show_default=True)
@suites_option
def make_command(file: Path, pages: int, suites: Path) -> None:
    """Make the database FILE of generated pages."""
    with click.progressbar(length=pages, label="pages") as bar:
        searchpages.make(file, pages, searchpages.Texts(suites), bar.update)


@main.command("times")
@file_argument
@click.option("--each", default=20, show_default=True, help="Queries of each kind.")
@click.option("--writer", is_flag=True, help="Write 300 pages a second meanwhile.")
@suites_option
def times_command(file: Path, each: int, writer: bool, suites: Path) -> None:
    """Times of a mixed set of queries to the database FILE that `make` made."""
    texts = searchpages.Texts(suites)
    with searchtimes.writing(file, suites) if writer else nullcontext():
        times = searchtimes.ask(file, texts, each)
    click.echo(searchtimes.table(times))


@main.command("known")
@file_argument
@click.argument("root", type=folder)
@click.argument("folders", nargs=-1)
@click.option("--count", default=1000, show_default=True, help="Titles and texts of links drawn.")
@click.option("--seed", default=1, show_default=True)
def known_command(file: Path, root: Path, folders: tuple[str, ...], count: int, seed: int) -> None:
    """Find the HTML pages under ROOT, all or of some FOLDERS, by titles and texts of links.

    They are read into the database FILE, if there is none. Shown is how often the right page is
    the first or among the first ten, and the mean of 1/rank, for each of the folders.
    """
    if not file.exists():
        searchscores.fill(file, searchscores.files(root, folders))
    with searchscores.asking(file) as ask:
        for name in folders or ("",):
            start = f"{searchscores.SITE}{name}"
            for kind, score in searchscores.known(file, start, count, seed, ask):
                click.echo(f"{name} {kind}: {score}")


@main.command("questions")
@file_argument
@suites_option
def questions_command(file: Path, suites: Path) -> None:
    """Find the paragraph that answers a question, of the suite chinese-search."""
    click.echo(searchscores.questions(file, suites))


@main.command("crawled")
@click.argument("kept", metavar="FOLDER", type=click.Path(file_okay=False, path_type=Path))
@click.option("--count", default=1000, show_default=True, help="Titles and texts of links drawn.")
@click.option("--seed", default=1, show_default=True)
@suites_option
def crawled_command(kept: Path, count: int, seed: int, suites: Path) -> None:
    """Crawl pages from nginx on loopback, and find them by `larbinpy search --json`.

    They are the paragraphs of chinese-search, which are asked for by their questions and by
    substrings of them, and LibreOffice's help in English and Chinese, by titles and texts of links.
    The databases are kept in FOLDER; those that are there are not crawled again.
    """
    for kind, found in searchcrawled.measure(kept, suites, count, seed):
        click.echo(f"{kind}: {found}")


if __name__ == "__main__":
    main()
