"""Crawls through a network that loses packets, with and without further tries."""

from dataclasses import replace
from functools import partial
from pathlib import Path

from matplotlib.axes import Axes

from experiments.crawls import FAILURES, Plan, Result, crawl
from experiments.lossy import NETWORK, Lossy, lossy, tcp_segments
from experiments.plots import plot
from experiments.report import Report, Table
from experiments.runs import say, warn_of_load
from experiments.siteserver import Serving, serving
from experiments.sitesweb import Hosts
from larbinpy.config import Config
from larbinpy.dns.lookup import TRIES

#: Of all URLs, per cent.
BOUND = 0.05
OURS = "ours"

_SITES = 20
_LONGEST = 900.0
_WEBS = {"a name for each site": Hosts.SITES, "a name for each page": Hosts.PAGES}

ABOUT = """\
Crawler and servers are in network namespaces of their own with a cable between them that loses
packets, each way. All URLs exist, so whatever ends in one of these has failed: {failures}.
"Ours" is larbinpy as it is: names are asked for up to {dns_tries} times and URLs tried up to
{tries} times. What TCP loses it sends again by itself; questions for names are what a crawler
must see to, by asking again or by trying the URL again, of which the last variant does neither.
With a name for each site there are {sites} of them, with a name for each page as many as there
are URLs, each with a robots.txt of its own."""


def run(out: Path, *, quick: bool, percent: float, urls: int) -> str:
    """Crawl about `urls` URLs by each variant and web; returns the tables.

    Raises `lossy.NotPossible` where no network of that kind is to be had.
    """
    each = (min(urls, 400) if quick else urls) // _SITES
    warn_of_load()
    results: dict[str, dict[str, Result]] = {}
    segments = [0, 0]
    with lossy(percent, _SITES) as network:
        for web, hosts in _WEBS.items():
            results[web] = _crawl_all(network, hosts, each, segments)
    failures = ", ".join(outcome.value for outcome in FAILURES)
    about = ABOUT.format(
        failures=failures, dns_tries=TRIES, tries=1 + Config().retries, sites=_SITES
    )
    report = Report(out, "loss", about)
    sent, again = segments
    report.note(
        f"{percent:g} % of the packets were dropped each way by {network.way}; of {sent:,} TCP "
        f"segments that the servers sent {again:,} were sent again ({_percent(again, sent):.2f} %)."
    )
    for web, found in results.items():
        report.table(_table(f"At {percent:g} % loss, {web}", found))
    report.note(_verdict([found[OURS] for found in results.values()], _SITES * each))
    plot(report.path(".png"), *(partial(_draw, web, found) for web, found in results.items()))
    return report.close()


def _crawl_all(network: Lossy, hosts: Hosts, each: int, segments: list[int]) -> dict[str, Result]:
    """All variants on sites of `each` pages; the servers' segments are added to `segments`."""
    name_server = f"{NETWORK}1"
    what = Serving((each, each), hosts, NETWORK, _SITES, name_server=name_server)
    with serving(what, network.server) as (port, dns_port, pid):
        seeds = [what.spelling(port).url(place) for place in what.web.fronts()]
        ours = Plan(seeds, _LONGEST, 0.0, dns_server=(name_server, dns_port))
        plans = {
            OURS: ours,
            "no retries": replace(ours, retries=0),
            "names asked for once": replace(ours, dns_tries=1),
            "neither": replace(ours, retries=0, dns_tries=1),
        }
        before = tcp_segments(pid)
        results = {name: _measure(name, plan, network) for name, plan in plans.items()}
        for number, (old, new) in enumerate(zip(before, tcp_segments(pid), strict=True)):
            segments[number] += new - old
    return results


def _measure(name: str, plan: Plan, network: Lossy) -> Result:
    result = crawl(plan, network.crawler)
    say(f"  {name}: {result.failed} of {_decided(result):,} failed")
    return result


def _decided(result: Result) -> int:
    return sum(result.outcomes.values())


def _table(title: str, results: dict[str, Result]) -> Table:
    ends = [outcome.value for outcome in FAILURES]
    ends = [end for end in ends if any(result.outcomes.get(end) for result in results.values())]
    table = Table(title, "variant", "URLs", "success", *ends, "failed, %", "tried again", "seconds")
    for name, result in results.items():
        table.add(
            name,
            _decided(result),
            result.outcomes.get("success", 0),
            *(result.outcomes.get(end, 0) for end in ends),
            f"{_share(result):.3f}",
            result.report["retries"],
            len(result.samples),
        )
    return table


def _verdict(results: list[Result], each: int) -> str:
    """Judged by what did not come of `each` URLs that there are, for whatever reason."""
    urls = each * len(results)
    missing = urls - sum(result.pages for result in results)
    share = _percent(missing, urls)
    met = "met" if share < BOUND else "MISSED"
    return f"Less than {BOUND} % of the URLs did not come with ours: {met} ({missing} of {urls:,})."


def _share(result: Result) -> float:
    return _percent(result.failed, _decided(result))


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


def _draw(web: str, results: dict[str, Result], axes: Axes) -> None:
    names = [name.replace(" asked", "\nasked") for name in results]
    axes.bar_label(axes.bar(names, [_share(result) for result in results.values()]), fmt="%.3g")
    axes.axhline(BOUND, color="grey", linestyle=":")
    axes.set_ylim(bottom=0)
    axes.set(title=web, ylabel="failed, %")
