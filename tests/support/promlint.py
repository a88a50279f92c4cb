"""Reads Prometheus text with Prometheus' own parser, and checks it as promtool does."""

import re
from collections.abc import Iterable
from math import inf

from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

#: Units that promtool rejects in names in favour of base units; the likely ones.
_OTHER_UNITS = {
    "milliseconds", "microseconds", "nanoseconds", "minutes", "hours", "days", "ms", "s", "us",
    "kilobytes", "megabytes", "kb", "mb", "bits", "percent",
}  # fmt: skip
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def read(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Name and labels -> sample. Raises AssertionError if promtool would report an error."""
    assert text.endswith("\n")
    families = list(text_string_to_metric_families(text))
    names = [family.name for family in families]
    assert len(names) == len(set(names)), "a family comes twice"
    for family in families:
        _lint(family)
    samples = [sample for family in families for sample in family.samples]
    keys = [(sample.name, tuple(sample.labels.items())) for sample in samples]
    assert len(keys) == len(set(keys)), "a sample comes twice"
    assert text.count("# TYPE") == text.count("# HELP") == len(families)
    return {key: sample.value for key, sample in zip(keys, samples, strict=True)}


def _lint(family: Metric) -> None:
    name = family.name
    assert _NAME.fullmatch(name), name
    assert name.startswith(("larbinpy_", "process_")), name
    assert family.documentation, name
    assert family.type in ("counter", "gauge", "histogram"), name
    assert not {"counter", "gauge", "histogram"} & set(name.split("_")), "a type in a name"
    assert not _OTHER_UNITS & set(name.split("_")), f"{name}: not in base units"
    assert family.samples, name
    if family.type == "histogram":
        _lint_histogram(family.samples, name)
        return
    for sample in family.samples:
        # The parser removes _total from the names of families.
        assert sample.name == name + ("_total" if family.type == "counter" else ""), sample
        assert not sample.name.endswith(("_count", "_sum", "_bucket")), sample
        assert "le" not in sample.labels, sample
        assert family.type != "counter" or not sample.value < 0, sample


def _lint_histogram(samples: Iterable[Sample], name: str) -> None:
    parts: dict[str, list[Sample]] = {}
    for sample in samples:
        parts.setdefault(sample.name.removeprefix(name), []).append(sample)
    assert set(parts) == {"_bucket", "_sum", "_count"}, name
    bounds = [float(sample.labels["le"]) for sample in parts["_bucket"]]
    counts = [sample.value for sample in parts["_bucket"]]
    assert bounds == sorted(set(bounds)) and bounds[-1] == inf, name
    assert counts == sorted(counts), f"{name}: buckets hold what those before them hold"
    [[count], [total]] = parts["_count"], parts["_sum"]
    assert counts[-1] == count.value, name
    # The sum is at least that of the lower bounds of all samples.
    least = sum(
        low * (after - before)
        for low, before, after in zip(bounds[:-1], counts[:-1], counts[1:], strict=True)
    )
    assert total.value >= least, name
