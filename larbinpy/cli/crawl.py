"""``larbinpy crawl``, alone or with ``--nodes``, and ``larbinpy revisit``.

`run_nodes` makes the command line of each node.
"""

import shlex
import socket
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, NoReturn

import click

from larbinpy.cli.common import (
    Defaults,
    check_writable,
    collect_rarely,
    complain,
    config_of,
    config_options,
    defaults_of,
    files,
    folders,
    going_on,
    input_option,
    load_config,
    node_join_option,
    pace,
    pace_options,
    plain_errors,
    progress_option,
    refuse_files,
    report_option,
    seeds_in,
)
from larbinpy.cli.folder import folder_of, served, settings_of, url_of
from larbinpy.config import STANDARD_INPUT, Config, ConfigError, Given
from larbinpy.config.kinds import SEED
from larbinpy.console.terminal.progress import make_progress
from larbinpy.console.text import counted, grouped, roughly, size
from larbinpy.crawl.crawl import Crawl
from larbinpy.errors import BROKEN_LINKS, USAGE, Ending
from larbinpy.fleet import require
from larbinpy.loop.child import command
from larbinpy.loop.clock import clock, wall
from larbinpy.output.log import write_pieces, write_report
from larbinpy.page import Outcome, Trait, having, left_out_lines
from larbinpy.storage.spool import FOLDER
from larbinpy.storage.state import Start, State
from larbinpy.url import login_of

#: Settings of a link check; only --set overrides them.
_CHECK = (
    ("checkLinks", "on"),
    ("outputMode", "none"),
    ("keepLinks", "on"),
    ("requisites", "everywhere"),
    ("getCGI", "on"),
    ("lockSite", "off"),
    ("noExternalLinks", "off"),
)
#: A link check goes through a whole site, which most often is the user's own.
_CHECK_DEFAULTS = Config(depth_in_site=50, wait_duration=1.0, use_cookies=True)
_RESUME = ("--resume", "--reload")
#: The value of --resume without a value.
_ALWAYS = "always"
_STARTS = {None: Start.REFUSE, _ALWAYS: Start.RESUME, "auto": Start.AUTO}
#: Keywords that --nodes sets for each node.
_BY_NODES = ("join", "node")
#: More nodes than any machine has cores for.
_MOST_NODES = 256
_TO_SEARCH = "to search the pages: larbinpy search {}WORDS"
#: Reasons of a crawl that came to its end.
_AT_THE_END = [
    each.reason for each in (Ending.FINISHED, Ending.NOTHING, Ending.UNKEPT, Ending.LOGIN)
]
_EARLY = (Ending.STOPPED.code, Ending.FORCED.code)
#: Exit statuses for which the crawl has printed a message already.
_REPORTED = (Ending.NOTHING.code, Ending.DISK.code)


class _Crawl(click.Command):
    """Takes ``--resume`` both with and without a value; click would use the next argument."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        options = [f"{arg}={_ALWAYS}" if arg in _RESUME else arg for arg in args[:end]]
        return super().parse_args(ctx, options + args[end:])


@click.command(cls=_Crawl)
@click.argument("urls", nargs=-1, metavar="[URL]...")
@config_options
@input_option
@node_join_option
@click.option("--node", metavar="NAME", help="Name of this node of the crawl [node, a].")
@click.option(
    "--nodes",
    type=click.IntRange(1, _MOST_NODES),
    metavar="NUMBER",
    help="Run the crawl as so many nodes on this machine.",
)
@click.option("-o", "output_dir", metavar="DIR", help="Write pages to DIR.", shell_complete=folders)
@pace_options("5", "30s")
@click.option(
    *_RESUME,
    type=click.Choice([_ALWAYS, "auto"]),
    metavar="[=auto]",
    help="Continue the crawl in stateDir, with its options; --resume=auto begins one if there is "
    "none.",
)
@click.option(
    "--scratch",
    is_flag=True,
    help="Delete the state and log in stateDir, never outputDir, and start anew. With --join, "
    "those of this node only.",
)
@click.option(
    "--plug", metavar="MODULE:CLASS", help="Give the pages to a class of your own [plug]."
)
@click.option(
    *("-O", "items"),
    metavar="FILE",
    help="Write what the plug emits to FILE, .jsonl or .csv [items].",
    shell_complete=files,
)
@click.option(
    "--render",
    is_flag=True,
    help="Read pages in a browser, whatever scripts they have [render **].",
)
@click.option(
    "--check-links",
    is_flag=True,
    help="Keep nothing; report broken links, and exit 1 if there are any.",
)
@click.option(
    *("--known", "known_faults"),
    metavar="FILE",
    help="With --check-links: URLs in FILE, one a line, may be broken [knownFaults].",
    shell_complete=files,
)
@click.option(
    "--junit",
    metavar="FILE",
    help="With --check-links: write the result to FILE, too, as JUnit XML.",
    shell_complete=files,
)
@report_option
@progress_option
def crawl(
    urls: tuple[str, ...],
    config_file: str | None,
    settings: tuple[str, ...],
    allow_private: bool,
    input_file: str | None,
    join: str | None,
    node: str | None,
    nodes: int | None,
    output_dir: str | None,
    depth: str | None,
    wait: str | None,
    rate: str | None,
    resume: str | None,
    scratch: bool,
    plug: str | None,
    items: str | None,
    render: bool,
    check_links: bool,
    known_faults: str | None,
    junit: str | None,
    report: str | None,
    progress: str,
) -> None:
    """Crawl from seeds.

    The seeds are the URL arguments, the lines of -i FILE and the startUrl lines of the
    configuration together. A host without a scheme is http.

    Without a configuration, the crawl stays on the hosts of its seeds, and keeps the pages in
    outputDir, as a mirror.

    --resume=auto is for services: it begins, continues or, if the crawl is finished, adds the
    seeds that are new; without new ones it ends at once, with status 0.

    A crawl that is continued keeps the options and the -c FILE of the runs before, except for those
    that are given anew.

    --check-links fetches the pages of the seeds' hosts, and asks for all other links, images,
    styles and scripts without reading them: by HEAD, or where a server refuses that, for the first
    byte. At the end it prints the broken links, each with all pages that have it; then those that
    servers refuse to the crawl (401, 403, 429 ...), and how many were not checked, for instance
    as robots.txt forbids it. The exit status is 1 if there are broken links, 0 if there are none.
    A folder, or a page in one, may stand in place of a URL (public/, file:///home/me/public/): it
    is served as the site.

    --join makes this process a node of a crawl that is kept in Redis: the first one makes the
    crawl, others divide its hosts with it, on any machine. --nodes 4 runs four nodes on this
    machine, by default with a Redis of their own, as one crawl: one Ctrl-C stops all.
    """
    with plain_errors():
        if scratch and resume:
            raise ConfigError("--resume and --scratch cannot be used together")
        folder = folder_of(urls) if check_links else None
        if folder is None:
            refuse_files(urls)
        if nodes and input_file == "-":
            raise ConfigError("-i - and --nodes cannot be used together: name a file")
        places = (
            *(("outputDir", output_dir), ("join", join), ("node", node)),
            *(("knownFaults", known_faults), ("checkFolder", folder and folder[0])),
            *(("plug", plug), ("items", items), ("render", "**" if render else None)),
        )
        more = [*((keyword, value) for keyword, value in places if value)]
        more += pace(depth, wait, rate)
        more += _CHECK if check_links else ()
        start = Start.SCRATCH if scratch else _STARTS[resume]
        typed = Given.by(config_file, settings, allow_private, more)
        given = _going_on(typed, start, nodes)
        check_links = check_links or (given is not typed and _CHECK[0] in given.pairs)
        if check_links and output_dir:
            raise ConfigError("-o and --check-links cannot be used together: it keeps no page")
        if (junit or known_faults) and not check_links:
            raise ConfigError("--junit and --known need --check-links")
        defaults = Defaults(_CHECK_DEFAULTS) if check_links else defaults_of(given)
        config, told = given.config(defaults.config), given.pairs
        if config.check_place[0]:
            given = given._replace(pairs=[settings_of(config), *given.pairs])
            config = given.config(defaults.config)
            if folder or not (urls or config.start_url or start is Start.RESUME):
                urls = (url_of(config, folder[1] if folder else ""),)
        if output_dir and not config.output_mode:
            # Without an output mode, the folder would stay empty.
            given = given._replace(pairs=[*given.pairs, ("outputMode", "mirror")])
            config = given.config(defaults.config)
        seeds = _checked(config, urls, input_file, start, nodes)
        for file in filter(None, (report, junit)):
            check_writable(file)
        if config.fills_database:
            # Here, since only crawls with a database need this module.
            from larbinpy.database.base import require

            require(config.content_database)
        if nodes and config.revisit != "off":
            raise ConfigError("revisit and --nodes cannot be used together; see docs/revisits.md")
        if nodes and given.config_file == STANDARD_INPUT:
            raise ConfigError("each node reads the configuration: with --nodes, name a file")
        if nodes:
            arguments = [] if given.config_file is None else ["-c", given.config_file]
            arguments += ["-o", output_dir] if output_dir else []
            for keyword, text in told:
                if keyword.lower() not in _BY_NODES:
                    arguments += ["--set", f"{keyword}={text}"]
            begin = [*(["-i", input_file] if input_file else []), "--", *urls]
            _run_nodes(nodes, given, config, start, arguments, begin, seeds, report, progress)
        with served(config):
            crawl = Crawl(
                config,
                seeds=seeds,
                start=start,
                fixed=typed.keywords,
                written=typed.values().keys(),
                assumed=defaults.said(config.output_dir, urls if input_file is None else ()),
                given=given,
                progress=progress,
            )
            code = _run(crawl, report)
        if progress != "none" and sys.stderr.isatty() and code not in _REPORTED:
            complain(summary(crawl.report))
            if config.fills_database:
                complain(search_command(_of_node(config) if config.join else config))
        if config.keeps_files and code != Ending.DISK.code:
            _say_left_out(crawl.report, config.state_dir)
        if check_links and code != Ending.DISK.code:
            broken = _report_links(config.state_dir, crawl.report, junit)
            code = BROKEN_LINKS if broken and code == 0 else code
        sys.exit(code)


def _going_on(given: Given, start: Start, nodes: int | None) -> Given:
    """`given`, and what the crawl in stateDir was given before if it is continued."""
    if start not in (Start.RESUME, Start.AUTO):
        return given
    config, values = Config(), given.values()
    state = values.get("state_dir", config.state_dir)
    folder = Path(state)
    if not nodes and values.get("join"):
        folder /= values.get("node", config.node)
    if not nodes and not State(folder).exists:
        return given
    merged = going_on(given, folder)
    # A file that was named before may name another folder.
    return given if merged is given else merged._replace(pairs=[*merged.pairs, ("stateDir", state)])


def _run_nodes(
    number: int,
    given: Given,
    config: Config,
    start: Start,
    arguments: Sequence[str],
    begin: Sequence[str],
    seeds: Iterable[str],
    report: str | None,
    progress: str,
) -> NoReturn:
    """Run the crawl as nodes, and exit with the status of all."""
    ended = run_nodes(number, given, config, start, arguments, begin, seeds, progress)
    if report is not None:
        write_report(report, ended)
    code = int(ended["exit_code"])
    if progress != "none" and code not in (USAGE, *_REPORTED):
        complain(summary(ended))
        if config.fills_database:
            complain(search_of_nodes(config, given.config_file))
    sys.exit(code)


def _report_links(folder: str, ended: Mapping[str, Any], junit: str | None) -> bool:
    """Print the broken links of a link check; return whether there are any.

    `ended` is the report of the run. They go to the file `junit`, too.
    """
    # Here, since only link checks need these modules.
    from larbinpy.observe.report.formats import Report, broken_links, junit_pieces

    report = Report(Path(folder))
    urls, checked = report.summary.urls, report.checked
    lacks = _lacks(ended, report.summary.outcomes[Outcome.SITE_LIMIT.value])
    share = grouped(urls) if checked == urls else f"{grouped(checked)} of {grouped(urls)}"
    lines = [
        *broken_links(report, everything=True, so_far=bool(lacks)),
        f"{share} URL{'' if urls == 1 else 's'} checked",
        *left_out_lines(report.summary.outcomes, report.left_out, "Not checked:"),
        *([f"incomplete: {', '.join(lacks)}"] if lacks else []),
    ]
    sys.stdout.writelines(report.shown(f"{line}\n" for line in lines))
    if junit is not None:
        write_pieces(junit, report.shown(junit_pieces(report)))
    return not report.is_clean


def _say_left_out(ended: Mapping[str, Any], folder: str) -> None:
    """Print what is missing in the files of a crawl: `ended` is its report, `folder` its state."""
    outcomes = ended["outcomes"]
    lost = sum(outcomes[outcome.value] for outcome in having(Trait.MISSED))
    if lost:
        complain(f"{counted(lost, 'URL')} could not be fetched: larbinpy report {folder}")
    lines = left_out_lines(outcomes, ended["left_out"])
    sys.stderr.writelines(f"{line}\n" for line in lines)


def _lacks(ended: Mapping[str, Any], limited: int) -> list[str]:
    """The reasons why a link check has not checked all links."""
    lacks = []
    if ended["stop_reason"] not in _AT_THE_END:
        queued = ended["urls_queued"]
        left = f"; {counted(queued, 'URL')} queued, --resume continues" if queued else ""
        lacks.append(f"ended by {ended['stop_reason']}{left}")
    if limited:
        lacks.append(f"{counted(limited, 'URL')} left out by limits by site")
    return lacks


def _checked(
    config: Config, urls: Sequence[str], listed: str | None, start: Start, nodes: int | None
) -> Iterator[str]:
    """`urls` and those in the file `listed`, lazily; raises ConfigError if nothing is to crawl."""
    seeds = seeds_in(listed)
    first = [*urls, *islice(seeds, 1)]
    is_empty = listed is not None and len(first) == len(urls)
    empty = f"{'standard input' if listed == '-' else listed}: no URL in it" if is_empty else ""
    exists = start is Start.AUTO and (nodes or State(Path(config.state_dir)).exists)
    # A crawl to join has its seeds.
    resumes = exists or start is Start.RESUME or config.join
    if not (first or config.start_url or config.input_port or resumes):
        nothing = f"{empty}, and nothing else" if empty else "nothing"
        raise ConfigError(f"{nothing} to crawl: give a URL, startUrl or inputPort")
    if empty:
        complain(empty)
    return chain(first, seeds)


def _run(crawl: Crawl, report: str | None) -> int:
    collect_rarely()
    code = crawl.run()
    if report is not None:
        write_report(report, crawl.report)
    return code


def search_command(config: Config) -> str:
    """One line that names the database, and the command that searches it."""
    return _TO_SEARCH.format(f"-d {shlex.quote(config.content_database)} ")


def search_of_nodes(config: Config, config_file: str | None) -> str:
    """As `search_command`, for the databases of all nodes of `config`."""
    plain = load_config(config_file, ())
    places = [(each.state_dir, each.content_database) for each in (plain, config)]
    if plain.join or places[0] != places[1]:
        # The configuration alone does not lead to them.
        return search_command(_of_node(replace(config, node="NODE")))
    return _TO_SEARCH.format(f"-c {shlex.quote(config_file)} " if config_file else "")


def _of_node(config: Config) -> Config:
    # Here, since only nodes need this module.
    from larbinpy.fleet.identity import as_node

    return as_node(config)


def summary(report: Mapping[str, Any]) -> str:
    """One line about a finished crawl, from its report."""
    failed = sum(report["outcomes"][outcome.value] for outcome in having(Trait.MISSED))
    pages, refused = report["success"], report["robots"]["denied"]
    text = (
        f"{report['stop_reason']}: {grouped(pages)} pages, {size(report['bytes_received'])} "
        f"in {roughly(report['elapsed_s'])}; {grouped(failed)} failed, "
        f"{grouped(refused)} refused by robots.txt"
    )
    left = report["urls_queued"]
    if not left and report["exit_code"] not in _EARLY:
        return text
    return f"{text}; {grouped(left)} still queued, --resume continues"


def run_nodes(
    number: int,
    given: Given,
    config: Config,
    start: Start,
    arguments: Sequence[str],
    begin: Sequence[str],
    seeds: Iterable[str],
    progress: str,
) -> Mapping[str, Any]:
    """Run so many nodes of the crawl of `config` to their end; return the report of all.

    `config` is `given`, with what is assumed. Each node gets the `arguments`, and the first one
    those to `begin`, which name the `seeds`. Raises UserError, OSError.
    """
    require()
    # Here, since only nodes need these modules.
    from larbinpy.cli.nodes.node import NodeStart
    from larbinpy.cli.nodes.supervisor import NodesPlan, Supervisor
    from larbinpy.fleet.identity import refuse, shared

    refuse(config)
    prefix = config.node if config.node != Config().node else ""
    names = [f"{prefix}{place}" for place in range(1, number + 1)]
    settings = dict(zip(names, _own_settings(config, number), strict=True))

    def command_of(run: NodeStart) -> list[str]:
        own = [word for pair in settings[run.name] for word in ("--set", "=".join(pair))]
        own += ["--node", run.name, "--report", str(run.report), "--progress", "none"]
        if run.is_first and start is Start.SCRATCH:
            own.append("--scratch")
        seeded = begin if run.has_seeds else ("--set", "startUrl=")
        return command("larbinpy", "crawl", *arguments, *own, *seeded)

    logins = list(_with_logins(chain(seeds, config.start_url)))
    notes = [] if progress == "none" else _about_ports(config, settings)
    folder = Path(config.state_dir)
    plan = NodesPlan(
        names, folder, config.join, start, shared(config), given, logins, notes, command_of
    )
    terminal = make_progress(progress, sys.stderr, config.limit_page)
    with closing(terminal):
        return Supervisor(plan, terminal, clock, wall).run()


def _about_ports(config: Config, settings: Mapping[str, Sequence[tuple[str, str]]]) -> list[str]:
    """Lines about the ports of the nodes, which have these `settings` of their own."""
    notes = []
    if config.http_port:
        page = f"http://{config.http_host}:{config.http_port}/fleet.html"
        notes.append(f"status page of all nodes: {page}")
    for name, own in settings.items():
        if ports := [f"{keyword} {value}" for keyword, value in own if "Port" in keyword]:
            notes.append(f"{name}: {', '.join(ports)}")
    return notes


def _with_logins(seeds: Iterable[str]) -> Iterator[str]:
    """Those of `seeds` that have a login. One that is no URL is left to the node that reads it."""
    for seed in seeds:
        with suppress(ValueError):
            if "@" in seed and login_of(url := SEED.parse(seed.strip())):
                yield url


def _own_settings(config: Config, number: int) -> list[list[tuple[str, str]]]:
    """The settings in which the nodes differ: other ports, and shares of the bandwidth."""
    settings: list[list[tuple[str, str]]] = [[] for _ in range(number)]
    if config.bond_width:
        for each in settings:
            each.append(("bondWidth", str(max(1, config.bond_width // number))))
    with ExitStack() as bound:
        for keyword, host, port in (
            ("httpPort", config.http_host, config.http_port),
            ("inputPort", config.input_host, config.input_port),
        ):
            for each in settings[1:] if port else ():
                each.append((keyword, str(_free_port(host, bound))))
    return settings


def _free_port(host: str, bound: ExitStack) -> int:
    """A free port, which stays bound for a while so that it is found once only."""
    family, *_, place = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
    sock = bound.enter_context(socket.socket(family, socket.SOCK_STREAM))
    sock.bind(place)
    return int(sock.getsockname()[1])


@click.command()
@config_options
@click.option(
    "--budget",
    metavar="NUMBER",
    help="Most pages to visit in this round, or a day with --follow [revisitBudget].",
)
@click.option(
    "--follow",
    is_flag=True,
    help="Go on with what becomes due, until the command is stopped.",
)
@report_option
@progress_option
def revisit(
    config_file: str | None,
    settings: tuple[str, ...],
    allow_private: bool,
    budget: str | None,
    follow: bool,
    report: str | None,
    progress: str,
) -> None:
    """Visit the pages of a crawl again that are due, and fetch the new ones that they link to.

    The crawl is the one in stateDir, with outputMode database. Its database says when each page is
    due, by how often it has changed so far. A page that has not changed is not sent again where
    the server can tell that (ETag, Last-Modified); one that fails keeps its old copy, and is tried
    again later.

    Without --follow this is one round: it ends when the pages that were due at its beginning have
    been visited, and the new ones that they link to. A round that was stopped goes on with the
    next call. larbinpy changes then says what is new, changed and gone.
    """
    with plain_errors():
        more = [("revisit", "on" if follow else "round")]
        more += [("revisitBudget", budget)] if budget is not None else []
        typed = Given.by(config_file, settings, allow_private, more)
        state = typed.values().get("state_dir", Config().state_dir)
        config = replace(config_of(typed, state), state_dir=state)
        _check_visits(config)
        if report is not None:
            check_writable(report)
        crawl = Crawl(
            config,
            start=Start.RESUME,
            fixed=typed.keywords,
            progress=progress,
        )
        collect_rarely()
        code = crawl.run()
        if report is not None:
            write_report(report, crawl.report)
        if progress != "none" and code not in _REPORTED:
            complain(_visits(crawl))
        sys.exit(code)


def _check_visits(config: Config) -> None:
    """Raise ConfigError if there is no crawl whose pages could be visited again."""
    # Here, since only visits need these modules.
    from larbinpy.crawl.revisiting import check
    from larbinpy.database.base import is_server

    check(config)
    if not State(Path(config.state_dir)).exists:
        raise ConfigError(
            f"{config.state_dir}: no saved crawl here; larbinpy crawl with outputMode database"
            " makes one"
        )
    # A crawl that was killed may have all its pages in the spool still.
    spooled = any(each.is_file() for each in Path(config.state_dir, FOLDER).rglob("*"))
    where = config.content_database
    if not (is_server(where) or spooled or _has_content(Path(where))):
        raise ConfigError(
            f"{where}: no database here, so no page is due; put the file back, or crawl anew"
            " (larbinpy crawl --scratch)"
        )


def _has_content(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _visits(crawl: Crawl) -> str:
    """One line about the visits of this run.

    Whether the text of a page that was sent again has changed is known to the database alone.
    """
    output = crawl.snapshot()["output"]
    assert isinstance(output, dict)
    visits = output["database"]
    if not visits["visited"]:
        how = "how often they change says when; revisitMax 20h visits all each night"
        return f"{crawl.report['stop_reason']}: no page was due ({how})"
    return (
        f"{crawl.report['stop_reason']}: {counted(visits['visited'], 'page')} visited"
        f" (304 Not Modified: {grouped(visits['not_modified'])},"
        f" failed: {grouped(visits['visits_failed'])}); larbinpy changes says which have changed"
    )
