"""The console of a whole crawl: the commands of a node's console, for all nodes."""

import json
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from larbinpy.console.ports.commands import COMMANDS
from larbinpy.console.terminal.prompt import Session
from larbinpy.console.text import json_line
from larbinpy.crawl.fleet.remote import Remote
from larbinpy.crawl.fleet.text import LOGINS_STAY, status_lines, status_of
from larbinpy.url import fault, login_of, masked_typed

_Answer = Mapping[str, Any]


class FleetConsole(Session):
    """A session with a crawl on Redis, whether nodes run or not."""

    def __init__(self, remote: Remote, stdout: TextIO, *, as_json: bool) -> None:
        super().__init__(stdout, as_json=as_json)
        self._remote = remote
        self._verbs: dict[str, Callable[[list[str]], _Answer]] = {
            "add": self._add,
            "status": lambda words: self._status(),
            "pause": lambda words: _done(remote.pause()),
            "resume": lambda words: _done(remote.resume()),
            "set": lambda words: remote.set(words[0], " ".join(words[1:])),
            "explain": lambda words: remote.explain(words[0]),
            "save": lambda words: remote.save(),
            "stop": lambda words: _done(remote.stop()),
            "help": lambda words: {"ok": True, "commands": self._usages()},
            "quit": lambda words: {"ok": True},
        }

    def ask(self, command: str) -> bytes:
        name, *words = command.split()
        verb = self._verbs.get(name)
        if verb is None:
            known = ", ".join(self._verbs)
            why = f"unknown command {name[:40]!r} of a fleet; known: {known}"
            return json_line({"ok": False, "error": why})
        if not COMMANDS[name].takes(len(words)):
            usage = f"usage: {name} {COMMANDS[name].arguments}".strip()
            return json_line({"ok": False, "error": usage})
        return json_line(verb(words))

    def interrupted(self) -> None:
        """Answers that come now belong to their order, and to no other command."""

    def _usages(self) -> list[str]:
        return [f"{name} {COMMANDS[name].arguments}".strip() for name in self._verbs]

    def _add(self, urls: list[str]) -> _Answer:
        refused = self._remote.seed(urls, depth=None, priority=False, again=False)
        reasons = [{"url": masked_typed(url), "reason": fault(url)} for url in refused]
        answer = {"ok": not refused, "accepted": len(urls) - len(refused), "refused": reasons}
        return answer | ({"note": LOGINS_STAY} if any(map(login_of, urls)) else {})

    def _status(self) -> _Answer:
        remote = self._remote
        return {"ok": True, **status_of(remote.name, remote.board(), remote.shards())}

    def _laid_out(self, command: str, text: str) -> str:
        answer = json.loads(text)
        match command.split()[0]:
            case "status" if answer["ok"]:
                lines = status_lines(answer)
            case "help" if answer["ok"]:
                lines = [f"  {usage}" for usage in answer["commands"]]
            case _:
                return super()._laid_out(command, text)
        return "".join(f"{line}\n" for line in lines)


def _done(refused: str) -> _Answer:
    return {"ok": False, "error": refused} if refused else {"ok": True}
