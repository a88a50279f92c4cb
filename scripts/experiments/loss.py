"""Crawls through a network that loses packets, with and without retries."""

from dataclasses import replace
from functools import partial
from pathlib import Path

from matplotlib.axes import Axes

from experiments.crawls import FAILURES, Plan, Result, crawl
from experiments.lossy import NETWORK, Lossy, lossy, tcp_segments
from experiments.plots import plot
from experiments.report import Report, Table, verdict
from experiments.runs import say, warn_of_load
from experiments.siteserver import Serving, serving
from experiments.sitesweb import Hosts
from larbinpy.config import Config
from larbinpy.dns.lookup import TRIES

#: Highest share of failed URLs (per cent).
BOUND = 0.05
OURS = "ours"

_SITES = 20
_LONGEST = 900.0
_WEBS = {"a name for each site": Hosts.SITES, "a name for each page": Hosts.PAGES}

ABOUT = """\
Crawler and servers are in separate network namespaces. The cable between them loses packets in
both directions. All URLs exist, so these outcomes are failures: {failures}. "Ours" is larbinpy
with its defaults: up to {dns_tries} tries for a name and up to {tries} tries for a URL. TCP sends
lost segments again by itself. Lost questions for names are the crawler's task: it asks again or
tries the URL again. The last variant does neither. With a name for each site there are {sites}
names. With a name for each page there are as many names as URLs, each with its own robots.txt."""


def run(out: Path, *, quick: bool, percent: float, urls: int) -> str:
    """Crawl about `urls` URLs with each variant and web; returns the tables.

    Raises `lossy.NotPossible` if the machine cannot make such a network.
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
    """Run all variants on sites of `each` pages; add the servers' TCP segments to `segments`."""
    name_server = f"{NETWORK}1"
    sites = Serving((each, each), hosts, NETWORK, _SITES, name_server=name_server)
    with serving(sites, network.server) as (port, dns_port, pid):
        seeds = [sites.spelling(port).url(place) for place in sites.web.fronts()]
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
    """Counts all URLs without a page, for any reason; each crawl has `each` URLs."""
    urls = each * len(results)
    missing = urls - sum(result.pages for result in results)
    text = f"less than {BOUND} % of the URLs are missing with ours: {missing} of {urls:,}"
    return verdict(_percent(missing, urls) < BOUND, text)


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
