"""The answers of several nodes as one."""

from collections.abc import Mapping, Sequence
from typing import Any

Answers = Mapping[str, Mapping[str, Any]]


#: Seconds after which nobody is asked again where a URL stands: its host may have no owner
#: from the death of a node until another one has taken the shard over.
ASKED = 15.0


def is_settled(answers: Answers, silent: Sequence[str]) -> bool:
    """Whether it would not help to ask again where a URL stands."""
    if not (answers or silent):
        return True
    return any(each.get("owner") or "state" in each for each in answers.values())


def explained(answers: Answers, silent: Sequence[str]) -> dict[str, Any]:
    """Where a URL stands: its owner says so, or a node that has fetched it earlier."""
    owner = next((name for name in answers if answers[name].get("owner")), None)
    others = [name for name in answers if name != owner and "state" in answers[name]]
    if owner is not None and not (others and answers[owner].get("state") == "seen"):
        return _of(owner, answers)
    if others:
        return _of(max(others, key=lambda name: str(answers[name]["fate"]["ts"])), answers)
    if silent:
        return {"ok": False, "error": f"no answer from {', '.join(silent)}; try again"}
    if answers:
        return {"ok": False, "error": "no node owns its host just now; try again in some seconds"}
    return {"ok": False, "error": "no node runs that could tell"}


def _of(name: str, answers: Answers) -> dict[str, Any]:
    answer = {key: value for key, value in answers[name].items() if key != "owner"}
    if answer.get("state") == "seen":
        answer["why"] = "it was seen, and no node that runs has it in its crawl.jsonl"
    return {**answer, "node": name}


def all_did(answers: Answers, silent: Sequence[str]) -> dict[str, Any]:
    """Whether all nodes did what was ordered; else who did not, and why."""
    refused = [f"{name}: {each.get('error')}" for name, each in answers.items() if not each["ok"]]
    refused += [f"{name}: no answer, it may still come" for name in silent]
    if refused:
        return {"ok": False, "error": "; ".join(refused)}
    return {"ok": True, "nodes": sorted(answers)}
