"""The borders between the packages: the imports that are allowed, and what no module may do."""

import ast
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from larbinpy.frontier.site import NamedSite

ROOT = Path(__file__).parents[1] / "larbinpy"
MODULES = {
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(ROOT.rglob("*.py"))
}

#: A package may import from itself and from earlier rows; the values of the first row,
#: from each other.
ROWS = [
    "url outcome page errors _version native config",
    "loop stats",
    "storage dns.wire dns.address dns.servers dns.lookup parse fetch.robots output.mirror.paths",
    "context frontier fleet content search login soft404 revisit",
    "database",
    "dns fetch fleet.redis output console demo",
    "observe",
    "crawl",
    "nodes",
]
LEVELS = {f"larbinpy.{room}": row for row, rooms in enumerate(ROWS) for room in rooms.split()}
# The package itself, whose docstring is the map, and the commands stand above all packages.
LEVELS |= {"larbinpy": len(ROWS), "larbinpy.cli": len(ROWS) + 1, "larbinpy.__main__": len(ROWS) + 2}

HOMES = {
    "pycurl": "fetch",
    "turbohtml": "parse content login.methods.form soft404.answers",
    "oauthlib": "login.methods.oauth",
    "lxml": "parse content",
    "dns": "dns demo",
    "hiredis": "fleet.redis",
    "click": "cli",
    "tqdm": "console.terminal.progress",
    "ada_url": "url",
    "h11": "console",
    "warcio": "output.warc.records database.sources",
    "isal": "storage.deflate database.preparation fleet.journal",
    "zstandard": "database fetch.transfer",
    "pymysql": "database.mysql",
    "Stemmer": "search",
    "opencc": "search",
    "pypdfium2": "content.pdf",
    "re2": "config.rule frontier.rules content.hidden login.judge",
    "publicsuffixlist": "config.patterns",
}
#: Other loops, threads and processes, and formats that run what they read.
BANNED = {"asyncio", "threading", "_thread", "multiprocessing", "concurrent"}
BANNED |= {"pickle", "marshal", "shelve", "yaml"}
CLOCKS = {"time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "sleep"}
CLOCKS |= {"now", "utcnow", "today"}
#: Processes of their own beside the crawl: the prompt that talks to it, the web it practises on.
APART = ("larbinpy.console.terminal.client", "larbinpy.demo")


@cache
def trees() -> dict[str, ast.Module]:
    return {name: ast.parse(path.read_bytes()) for name, path in MODULES.items()}


def room(module: str) -> str:
    """The longest entry of `LEVELS` that `module` lies in; the top for the package itself."""
    rooms = [name for name in LEVELS if module == name or module.startswith(name + ".")]
    assert rooms != ["larbinpy"] or module == "larbinpy", f"{module} has no place in ROWS"
    return max(rooms, key=len)


def imports(module: str) -> set[str]:
    """Absolute names of the modules that `module` imports, at the top or within functions."""
    found = set()
    for node in ast.walk(trees()[module]):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module}: relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in MODULES else str(node.module))
    return found


def may_import(module: str, other: str) -> bool:
    level, below = LEVELS[room(module)], LEVELS[room(other)]
    together = level == 0 or module.split(".")[1:2] == other.split(".")[1:2]
    return below < level or (below == level and together)


def test_imports_go_one_way() -> None:
    own = {name: {other for other in imports(name) if other in MODULES} for name in MODULES}
    assert [
        f"{name} imports {other}"
        for name, others in own.items()
        for other in sorted(others)
        if not may_import(name, other)
    ] == []
    TopologicalSorter(own).prepare()  # raises CycleError, which names the cycle


def folder(module: str) -> str:
    """The folder within a package that `module` lies in; the module itself, if it is in none."""
    parts = module.split(".")
    return ".".join(parts[:3]) if len(parts) > 3 else module


def test_the_folders_of_a_package_do_not_import_each_other() -> None:
    """They may import one way."""
    graph: dict[str, set[str]] = {}
    for name in MODULES:
        others = {folder(other) for other in imports(name) if other in MODULES}
        graph.setdefault(folder(name), set()).update(others - {folder(name)})
    TopologicalSorter(graph).prepare()


def test_each_library_has_one_home() -> None:
    for name in MODULES:
        for library in {other.partition(".")[0] for other in imports(name)}:
            if library == "larbinpy" or library in sys.stdlib_module_names:
                allowed = library == "asyncio" and name.startswith(APART)
                assert allowed or library not in BANNED, f"{name} imports {library}"
            else:
                homes = [f"larbinpy.{home}" for home in HOMES.get(library, "").split()]
                assert any(f"{name}.".startswith(f"{home}.") for home in homes), (name, library)


def test_one_module_reads_the_clock() -> None:
    for name, tree in trees().items():
        if name.startswith(("larbinpy.loop.clock", *APART)):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module == "time":
                assert not CLOCKS & {alias.name for alias in node.names}, name
            if isinstance(node, ast.Attribute) and node.attr in CLOCKS:
                assert ast.unparse(node.value).split(".")[-1] not in (
                    "time",
                    "datetime",
                    "date",
                ), f"{name}:{node.lineno} reads the clock"


def test_nothing_runs_what_it_reads() -> None:
    for name, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec", "compile", "__import__"), name


#: Methods of a list that change it.
CHANGES = {"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse"}


def assigned_to_sites(tree: ast.AST) -> list[str]:
    """The fields of a site that `tree` assigns, or changes as a list."""
    found = []
    for node in ast.walk(tree):
        changed: list[ast.expr] = []
        if isinstance(node, ast.Assign | ast.Delete):
            changed = node.targets
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            changed = [node.target]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            changed = [node.func.value] if node.func.attr in CHANGES else []
        for target in changed:
            for each in target.elts if isinstance(target, ast.Tuple) else [target]:
                inner = each.value if isinstance(each, ast.Subscript) else each
                if not isinstance(inner, ast.Attribute) or inner.attr not in NamedSite.__slots__:
                    continue
                if ast.unparse(inner.value) in ("site", "owner", "other"):
                    found.append(f"line {target.lineno}: {ast.unparse(node)}")
    return found


def test_a_site_is_changed_by_its_own_methods() -> None:
    """But for `enlisted`, which says where its IPSite has it."""
    found = {name: assigned_to_sites(tree) for name, tree in trees().items()}
    changed = [change for name in found for change in found[name] if ".enlisted" not in change]
    assert changed == []
    assert {name for name in found if found[name]} == {"larbinpy.frontier.addresses"}
    wrong = ["site.tries += 1", "site.ready.pop(0)", "site.waiting[:0] = []", "del site.until"]
    assert all(assigned_to_sites(ast.parse(each)) for each in wrong)


def test_the_top_level_holds_values_only() -> None:
    assert len(list(ROOT.glob("*.py"))) <= 10


def test_no_test_patches_a_constant() -> None:
    """Sizes, clocks and pollers are arguments; the system (os.fsync ...) may be patched."""
    found = []
    for path in (ROOT.parent / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("setattr"):
                names = [each.value for each in node.args[:2] if isinstance(each, ast.Constant)]
                patched = str(names[-1]).rpartition(".")[2] if names else ""
                if patched.strip("_") and patched.upper() == patched:
                    found.append(f"{path}:{node.lineno}: {patched}")
    assert found == []
