"""The end of ``larbinpy mirror``: its last lines, its report and its exit status."""

from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import click

from larbinpy.config import Config
from larbinpy.console.text import counted, printable, size
from larbinpy.exit_status import INCOMPLETE, Ending
from larbinpy.outcome import in_words
from larbinpy.output.mirror.account import Account, Failure, Kind
from larbinpy.output.mirror.catalog import NAME, Catalog
from larbinpy.output.mirror.gone import failed_starts
from larbinpy.output.report import write_report
from larbinpy.reason import cure, detail_in_words

#: Failures and hosts that are printed; the log and the report have more.
_SHOWN = 20
#: URLs of each kind in a report.
_LISTED = 10_000
_LISTS = {
    "new": (Kind.NEW,),
    "changed": (Kind.CHANGED,),
    "unchanged": (Kind.UNCHANGED,),
    "gone": (Kind.GONE, Kind.UNLINKED),
}


def conclude(config: Config, report: dict[str, Any], file: str | None) -> int:
    """Print how the mirror went; write the report to `file`, if one is named.

    Returns the exit status: that of the crawl's `report`, or 8 instead of 0 if a start page is
    missing, or all files that pages need from some host to be displayed.
    """
    code = int(report["exit_code"])
    if code != Ending.NOTHING.code:  # the crawl has printed the reasons
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
    if kept:
        yield printable(f"nothing was purged: {kept}")
    spared = account.spared(_SHOWN + 1)
    yield from (printable(f"  kept {path}: {why}") for path, why in spared[:_SHOWN])
    if len(spared) > _SHOWN:
        yield "  and more"
    if counts["failed"]:
        yield f"{counts['failed']} could not be fetched:"
        failures = account.failures(_SHOWN)
        for failure in failures:
            yield printable(f"  {_in_words(failure)}")
        if counts["failed"] > len(failures):
            yield f"  and {counts['failed'] - len(failures)} more; {log} has all"
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


def _in_words(failure: Failure) -> str:
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
