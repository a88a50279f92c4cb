"""``larbinpy mirror``: its run, and its last lines, its report and its exit status."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import click

from larbinpy.cli.common import (
    check_writable,
    collect_rarely,
    complain,
    config_options,
    folders,
    going_on,
    pace,
    pace_options,
    plain_errors,
    progress_option,
    report_option,
)
from larbinpy.config import DEFAULT_FILE, MOST_DEPTH, Config, ConfigError, Given, texts
from larbinpy.console.text import counted, printable, size
from larbinpy.crawl.crawl import Crawl
from larbinpy.errors import INCOMPLETE, Ending, UserError
from larbinpy.output.log import write_report
from larbinpy.output.mirror.catalog import (
    ALL_GONE,
    NAME,
    Account,
    Catalog,
    FailedUrl,
    Refreshed,
    is_rewritten,
    spelling_of,
)
from larbinpy.output.mirror.gone import failed_starts
from larbinpy.output.mirror.paths import Spelling
from larbinpy.page import cure, detail_in_words, in_words, left_out_lines
from larbinpy.storage.queues import owed_urls
from larbinpy.storage.state import Start, State, StateError

#: Failures and hosts that are printed; the log and the report have more.
_SHOWN = 20
#: URLs of each kind in a report.
_LISTED = 10_000
_LISTS = {
    "new": (Refreshed.NEW,),
    "changed": (Refreshed.CHANGED,),
    "unchanged": (Refreshed.UNCHANGED,),
    "gone": ALL_GONE,
}


def conclude(config: Config, report: dict[str, Any], file: str | None) -> int:
    """Print how the mirror went; write the report to `file`, if one is named.

    Returns the exit status: that of the crawl's `report`, or 8 instead of 0 if a start page is
    missing, or all files that pages need from some host to be displayed.
    """
    code = int(report["exit_code"])
    if code != Ending.NOTHING.code:  # else the crawl has printed the reasons
        pages = "1 page" if report["success"] == 1 else f"{report['success']} pages and files"
        click.echo(
            f"{report['stop_reason']}: {pages} of {counted(report['sites'], 'site')}, "
            f"{size(report['bytes_received'])} in {report['elapsed_s']} s"
        )
    if (Path(config.output_dir) / NAME).exists():  # not with another outputMode
        with closing(Catalog(config.output_dir)) as catalog:
            lost = catalog.account.lost_hosts(most=_SHOWN)
            failed = [*islice(failed_starts(catalog), _SHOWN)]
            code = INCOMPLETE if code == 0 and (lost or failed) else code
            log = Path(config.state_dir) / "crawl.jsonl"
            for line in said(catalog.account, log, purge=config.purge):
                click.echo(line)
            for why in failed:
                click.echo(printable(f"a start page is missing: {why}"))
            if lost:
                click.echo(f"no file came from {', '.join(lost)}; pages need files from there")
            report = {**report, "exit_code": code, "mirror": listed(catalog.account)}
    if file is not None:
        write_report(file, report)
    for line in left_out_lines(report["outcomes"], report["left_out"]):
        click.echo(line)
    if report["urls_queued"] or code == Ending.STOPPED.code:
        click.echo("The mirror is unfinished; run the same command to continue.")
    return code


def said(account: Account, log: Path, *, purge: bool) -> Iterator[str]:
    """The lines about a refresh, and about failures; `log` has all failures."""
    counts = account.counts()
    kept = account.refusal if purge and not counts["gone"] else ""
    if counts["changed"] or counts["unchanged"] or counts["gone"]:
        kinds = (f"{counts[kind]} {kind}" for kind in ("new", "changed", "unchanged"))
        gone = _gone(counts, account.refusal, purge=purge, spared=bool(account.spared(1)))
        yield f"{', '.join(kinds)}, {gone}"
    if counts["changed"]:
        yield "changed:"
        yield from (f"  {url}" for url in account.urls(Refreshed.CHANGED, most=_SHOWN))
        if counts["changed"] > _SHOWN:
            yield f"  and {counts['changed'] - _SHOWN} more; --report FILE names them"
    if kept:
        yield printable(f"nothing was purged: {kept}")
    spared = account.spared(_SHOWN + 1)
    yield from (printable(f"  kept {path}: {why}") for path, why in spared[:_SHOWN])
    if len(spared) > _SHOWN:
        yield "  and more"
    # What robots.txt forbids has a line among what was left out.
    if number := counts["failed"] - counts["refused"]:
        yield f"{number} could not be fetched:"
        failures = account.failures(min(number, _SHOWN))
        for failure in failures:
            yield printable(f"  {_in_words(failure)}")
        if number > len(failures):
            yield f"  and {number - len(failures)} more; {log} has all"
        yield from filter(None, dict.fromkeys(cure(each.outcome, each.detail) for each in failures))


def _gone(counts: dict[str, int], refusal: str, *, purge: bool, spared: bool) -> str:
    gone, purged = counts["gone"], counts["purged"]
    if not gone:
        return "0 gone"
    if not purge:
        return f"{gone} gone; --purge removes them"
    if refusal:
        return f"{gone} gone and kept: {printable(refusal)}"
    if purged == gone:
        return f"{gone} gone and removed"
    lost = "hosts of which nothing came keep theirs"
    why = "these files were kept:" if spared else lost
    return f"{gone} gone, {purged} of them removed; {why}"


def _in_words(failure: FailedUrl) -> str:
    """One line: where, found on which page, why, and what became of the old copy."""
    via = f" (on {failure.via})" if failure.via else ""
    detail = detail_in_words(failure.outcome, failure.detail)
    more = " ".join(filter(None, (str(failure.status or ""), detail)))
    if failure.tries > 1:
        more += f" after {failure.tries} tries"
    reason = in_words(failure.outcome) + (f": {more.strip()}" if more else "")
    copy = ("; old copy removed" if failure.purged else "; old copy kept") if failure.had else ""
    return f"{failure.url}{via}: {reason}{copy}"


def listed(account: Account) -> dict[str, object]:
    """The counts of the mirror, and its first URLs of each kind, for a report."""
    return {
        **account.counts(),
        "not_purged": account.refusal,
        "kept_files": [{"file": path, "reason": why} for path, why in account.spared(_LISTED)],
        "urls": {name: account.urls(*kinds, most=_LISTED) for name, kinds in _LISTS.items()},
        "failures": [
            {
                "url": failure.url,
                "outcome": failure.outcome,
                "status": failure.status,
                "tries": failure.tries,
                "via": failure.via,
                "detail": failure.detail,
                "old_copy": ("removed" if failure.purged else "kept") if failure.had else None,
            }
            for failure in account.failures(_LISTED)
        ],
    }


#: Defaults of a mirror: without end, faster and with longer files than a crawl, as the user chose
#: its one site; and as a visitor who keeps cookies.
_DEFAULTS = Config(
    depth_in_site=MOST_DEPTH,
    limit_by_shape=100_000,
    # A mirror is no index. What is not followed are most often links without end.
    robots_meta="nofollow",
    wait_duration=1.0,
    max_page_size=64 << 20,
    use_cookies=True,
)
#: Settings of every mirror; only --set overrides them.
_MIRROR = (
    ("outputMode", "mirror"),
    ("rewriteLinks", "on"),
    ("requisites", "everywhere"),
    ("lockSite", "on"),
    ("getCGI", "on"),
    ("anyType", "on"),
)
#: Settings that larbin.conf and the environment contain for other crawls. In a mirror they would
#: leave out parts of the site, end the crawl early, or use the ports of the other crawl.
_IGNORED = (
    *("stay", "noExternalLinks", "limitToDomain", "forbiddenExtensions", "specificSearch"),
    *("pageNoDuplicate", "checkLinks", "limitTime", "limitPage", "limitKept", "limitPageBySite"),
    *("limitBytesBySite", "httpPort", "inputPort"),
)

#: The source of rules that are given with --set (`larbinpy.config.rule.Rule`).
_COMMAND_LINE = "command line"


@click.command()
# The shell asks the first argument for completions of all: the last one may be the folder.
@click.argument("urls", nargs=-1, metavar="URL...", shell_complete=folders)
@click.argument("directory", metavar="DIR", shell_complete=folders)
@pace_options("no limit", "1s")
@click.option(
    "--no-parent",
    is_flag=True,
    help="Take only what is below the folder of each URL [stay prefix].",
)
@click.option(
    "--follow-seed",
    is_flag=True,
    help="If a URL redirects to another site, mirror that site, too [followSeed].",
)
@click.option(
    "--purge", is_flag=True, help="In a refresh, remove the files of pages that are gone."
)
@click.option(
    "--render",
    is_flag=True,
    help="Read pages in a browser; the mirror has what they show [render].",
)
@report_option
@config_options
@progress_option
def mirror(
    urls: tuple[str, ...],
    directory: str,
    depth: str | None,
    no_parent: bool,
    follow_seed: bool,
    wait: str | None,
    rate: str | None,
    purge: bool,
    render: bool,
    report: str | None,
    config_file: str | None,
    settings: tuple[str, ...],
    allow_private: bool,
    progress: str,
) -> None:
    """Mirror sites below DIR so that they browse offline; run again to refresh them.

    The mirror starts at each URL and has all that can be reached from there on the hosts of the
    URLs, with any path and port, or with --no-parent below the folders of the URLs: for
    http://docs.test/guide/a.html, that is /guide/, and for http://docs.test/guide, too, if the
    server redirects it to /guide/. If a URL redirects to another site, only that page of it is
    taken, unless --follow-seed is given. The mirror has images, style sheets and other files that
    its pages need to be displayed, wherever they are.

    A refresh fetches what changed. A page that fails keeps its old copy. A page that is gone does,
    too, unless --purge is given: it is gone if the server says so (404, 410), if it redirects to
    another page now, or if a complete refresh finds no link to it. Nothing is removed if a start
    page fails or leads elsewhere, if more than ten files, and more than half of the mirror, would
    go, or if more than three would go and a start page has no links any more. A file that is not as
    larbinpy wrote it is kept.

    Settings in larbin.conf and the environment that choose how to crawl (your name, waits,
    depth, network) apply. Those that choose what to fetch, where to store it, when to stop or
    which ports to open (startUrl, forbiddenExtensions, limitPage and the like) are ignored;
    --set overrides. Rules (accept, reject) apply from a file that -c names and from --set.

    The exit status is 8 if the page of a URL could not be fetched, or if pages need files of a
    host to be displayed and none of them came.
    """
    with plain_errors():
        if report is not None:
            check_writable(report)
        given = given_by(
            urls,
            directory,
            depth,
            no_parent,
            follow_seed,
            wait,
            rate,
            purge,
            render,
            config_file,
            settings,
            allow_private,
        )
        typed, state = given.keywords, given.values()["state_dir"]
        start = _start(directory, state)
        if start is Start.RESUME:
            complain(f"continuing the unfinished mirror in {directory}")
            given = going_on(given, state)
        config = configuration(given, directory)
        written = given.values().keys()
        crawl = Crawl(
            config, start=start, fixed=typed, written=written, given=given, progress=progress
        )
        collect_rarely()
        crawl.run()
        code = conclude(config, crawl.report, report)
        click.echo(f"mirror: {directory}")
        sys.exit(code)


def given_by(
    urls: Sequence[str],
    directory: str,
    depth: str | None,
    no_parent: bool,
    follow_seed: bool,
    wait: str | None,
    rate: str | None,
    purge: bool,
    render: bool,
    config_file: str | None,
    settings: Sequence[str],
    allow_private: bool,
) -> Given:
    """Return what the arguments of the command give. Raises ConfigError."""
    if not urls:
        raise ConfigError("give a URL and the folder of the mirror: larbinpy mirror URL... DIR")
    if "://" in directory:
        raise ConfigError(f"{directory}: give the folder of the mirror as the last argument")
    more = [
        *(("startUrl", url) for url in urls),
        *(("outputDir", directory), ("stateDir", str(Path(directory) / ".larbinpy")), *_MIRROR),
        *([("stay", "prefix")] if no_parent else []),
        *([("followSeed", "on")] if follow_seed else []),
        *([("purge", "on")] if purge else []),
        *([("render", "**")] if render else []),
        *pace(depth, wait, rate),
    ]
    return Given.by(config_file, settings, allow_private, more)


def configuration(given: Given, directory: str) -> Config:
    """The settings of a mirror in `directory`, from what the user gave.

    Prints a line if it uses larbin.conf, and one with the settings that it ignores. Raises
    ConfigError.
    """
    if given.config_file is None and given.has_file:
        complain(f"using the settings in {DEFAULT_FILE}")
    own = [*((keyword, "") for keyword in _IGNORED), *given.pairs]
    asked, config = (each.config(_DEFAULTS) for each in (given, given._replace(pairs=own)))
    if given.config_file is None:
        # A file that is named is meant for this mirror, so its rules apply.
        meant = (rule for rule in config.rules if rule.source == _COMMAND_LINE)
        config = replace(config, rules=tuple(meant))
    taken = texts(config)
    left = [keyword for keyword, text in texts(asked).items() if text != taken[keyword]]
    if left:
        complain(f"ignored for a mirror, unless given with --set: {', '.join(left)}")
    kept = spelling_of(directory)
    if kept is not None and config.file_names not in (kept.value, Spelling.ASCII.value):
        complain(f"{directory} keeps its {kept.value} file names; a new mirror can have others")
    return config


def _start(directory: str, folder: str) -> Start:
    """How to start: an unfinished mirror is continued, a finished one is refreshed."""
    state = State(Path(folder))
    if not state.exists:
        return Start.SCRATCH
    # The lock keeps other processes from changing the state meanwhile.
    try:
        state.lock()
    except OSError:
        return Start.SCRATCH  # the crawl reports the error
    try:
        owes = next(iter(owed_urls(state)), None) is not None
    except StateError as error:
        complain(f"{error}; starting anew")
        return Start.SCRATCH
    finally:
        state.unlock()
    unfinished = owes or not is_rewritten(directory)
    if unfinished and _lost_catalog(directory):
        raise UserError(
            f"{directory}: an unfinished mirror without its catalog {NAME}; mirror into another"
            f" folder, or remove {folder} to fetch everything again over the files here"
        )
    return Start.RESUME if unfinished else Start.SCRATCH


def _lost_catalog(directory: str) -> bool:
    """Whether there are files of a mirror, but not the catalog with their URLs."""
    root = Path(directory)
    return not (root / NAME).exists() and any(path.name[0] != "." for path in root.iterdir())
