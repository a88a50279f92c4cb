"""The rules in force while a crawl runs: those of the operator's console before the configured."""

from collections.abc import Sequence
from typing import Any

from larbinpy.config.rule import Rule, parse_rule

#: The source of rules that came while the crawl ran.
CONSOLE = "console"


class LiveRules:
    """The ordered rules of a crawl, to which rules are added and from which they are dropped.

    A new rule comes first, because the first that matches decides. Changes outlive a resume, in
    which the configured rules may be others: then those that were dropped stay dropped.
    """

    def __init__(self, configured: Sequence[Rule]) -> None:
        self._configured = tuple(configured)
        self._added: list[Rule] = []
        #: Texts of configured rules.
        self._dropped: list[str] = []
        #: Whether the rules have ever changed, so that others let URLs pass that are queued.
        self.were_others = False

    def __repr__(self) -> str:
        return f"<LiveRules {len(self.current)}, {len(self._added)} added>"

    @property
    def current(self) -> tuple[Rule, ...]:
        """The rules in force, in their order."""
        kept = (rule for rule in self._configured if rule.text not in self._dropped)
        return (*self._added, *kept)

    def add(self, accept: bool, pattern: str) -> Rule:
        """Put a rule before all others. Raises ValueError with a reason."""
        rule = parse_rule(accept, _unquoted(pattern)).at(CONSOLE)
        self._added = [rule, *(each for each in self._added if each != rule)]
        self.were_others = True
        return rule

    def drop(self, word: str) -> Rule:
        """Drop a rule by its number, from 1, or by its text. Raises ValueError with a reason."""
        rule = self._find(word)
        if rule.source == CONSOLE:
            self._added = [each for each in self._added if each is not rule]
        else:
            self._dropped.append(rule.text)
        self.were_others = True
        return rule

    def _find(self, word: str) -> Rule:
        rules = self.current
        if not rules:
            raise ValueError("there is no rule")
        if word.isdecimal() and word.isascii() and len(word) < 10:
            number = int(word)
            if not 1 <= number <= len(rules):
                raise ValueError(f"there is no rule {number}; the last is {len(rules)}")
            return rules[number - 1]
        found = [rule for rule in rules if _unquoted(word) in _names(rule)]
        if not found:
            raise ValueError(f"no rule is {word[:80]!r}; see rules")
        return found[0]

    # The state that is saved.

    def cut(self) -> dict[str, Any]:
        """The changes, and the texts of the rules in force, JSON-able."""
        added = [[rule.accept, _unquoted(rule.pattern)] for rule in self._added]
        return {
            "added": added,
            "dropped": list(self._dropped),
            "in_force": self._texts(),
            "were_others": self.were_others,
        }

    def load(self, changes: dict[str, Any]) -> None:
        """Make the changes of `cut`, and find out whether the configured rules are others now.

        Raises ValueError, TypeError or LookupError.
        """
        for accept, pattern in reversed(changes["added"]):
            self.add(bool(accept), str(pattern))
        self._dropped = [str(text) for text in changes["dropped"]]
        # States of earlier versions have the changes alone.
        earlier = bool(self._added or self._dropped)
        differ = changes.get("in_force", self._texts()) != self._texts()
        self.were_others = bool(changes.get("were_others", earlier)) or differ

    def _texts(self) -> list[str]:
        return [rule.text for rule in self.current]


def _names(rule: Rule) -> set[str]:
    """The texts that name a rule: with and without its keyword, and quotes."""
    pattern = _unquoted(rule.pattern)
    return {rule.text, pattern, f"{rule.keyword} {pattern}"}


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
