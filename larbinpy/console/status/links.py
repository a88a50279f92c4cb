"""The section about broken links."""

from larbinpy.console.status.format import Snapshot, ago, group, rows, section
from larbinpy.console.status.markup import Html, el, join, table
from larbinpy.console.text import grouped
from larbinpy.outcome import Trait, having
from larbinpy.reason import reason

_BROKEN = [outcome.value for outcome in having(Trait.BROKEN)]


def broken_links(snapshot: Snapshot) -> Html:
    """How many links are broken, and the last ones with the first page that has each."""
    counts = group(snapshot, "outcomes")
    count = sum(counts.get(name, 0) for name in _BROKEN)
    last = rows(snapshot, "broken")
    lines = [
        (
            ago(fate.get("ts"), snapshot.get("now")),
            join(
                [
                    fate.get("url"),
                    el(
                        "small",
                        reason(str(fate.get("outcome")), fate.get("status"), fate.get("detail")),
                    ),
                ]
            ),
            fate.get("via") or "a seed",
        )
        for fate in last
    ]
    head = ("#Ago", "*URL and reason", "*First page with it")
    folder = group(snapshot, "config").get("stateDir") or "STATE_DIR"
    note = f"So far {grouped(count)}; the last {len(last)} are shown. "
    note += f"All of them, with all pages that have them: larbinpy report {folder}"
    return section("Broken links", el("p", note), table(head, lines, "No link is broken."))
