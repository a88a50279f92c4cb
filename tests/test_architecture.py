"""The borders between the packages: the imports that are allowed, and what no module may do."""

import ast
import io
import sys
import tokenize
from collections import Counter
from dataclasses import fields
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from larbinpy.context import Context
from larbinpy.frontier.site import NamedSite

ROOT = Path(__file__).parents[1] / "larbinpy"
MODULES = {
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(ROOT.rglob("*.py"))
}

#: A package may import from itself and from earlier rows; the values of the first row,
#: from each other.
ROWS = [
    "url page errors _version native config",
    "loop stats",
    "storage dns.wire dns.lookup parse fetch.robots output.mirror.paths",
    "context frontier fleet login",
    "database",
    "dns fetch fleet.redis output console demo render",
    "observe",
    "crawl",
]
LEVELS = {f"larbinpy.{room}": row for row, rooms in enumerate(ROWS) for room in rooms.split()}
# The package itself, whose docstring is the map, and the commands stand above all packages.
LEVELS |= {"larbinpy": len(ROWS), "larbinpy.cli": len(ROWS) + 1, "larbinpy.__main__": len(ROWS) + 2}

HOMES = {
    "pycurl": "fetch",
    "turbohtml": "parse database.content login.methods.form frontier.soft404.answers",
    "oauthlib": "login.methods.oauth",
    "lxml": "parse database.content cli",
    "dns": "dns demo",
    "hiredis": "fleet.redis",
    "click": "cli",
    "tqdm": "console.terminal.progress",
    "ada_url": "url",
    "h11": "console",
    "warcio": "output.warc.wacz database.sources",
    "isal": "storage.deflate database.preparation fleet.journal",
    "zstandard": "database fetch.transfer",
    "pymysql": "database.mysql",
    "Stemmer": "database.search",
    "opencc": "database.search",
    "pypdfium2": "database.content.pdf",
    "re2": "config.rule frontier.rules database.content.hidden login.judge",
    "publicsuffixlist": "config.patterns",
}
#: Other loops, threads and processes, and formats that run what they read.
BANNED = {"asyncio", "threading", "_thread", "multiprocessing", "concurrent"}
BANNED |= {"pickle", "marshal", "shelve", "yaml"}
CLOCKS = {"time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "sleep"}
CLOCKS |= {"now", "utcnow", "today"}
#: Processes of their own beside the crawl: the prompt that talks to it, the web it practises on.
APART = ("larbinpy.console.terminal.client", "larbinpy.demo")

#: Modules of at most 80 lines that only their neighbour reads.
PARTS = "database.content.pdf"
#: Protocols with one implementation; `Tables` is also that of sqlite3.
SINGLE = """
database.base.Tables fleet.node.Local
"""
#: Most modules, edges between them, and arrows between rooms.
JOINTS = {"modules": 251, "edges": 1331, "arrows": 155}
FORWARDERS = 86
#: Constructors with more than 8 arguments. Ten of those of `Crawl` are documented.
LARGE = {"crawl.crawl.Crawl": 12}
#: Names of classes that more than one module has.
SHARED = """
Control Entry Form Host Judge Link Mark Place Ports Redirect Refusal Report Rule Rules Run Schedule
Session State Verdict
"""
#: Tokens that are no code.
SPACE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE}
SPACE |= {tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


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


# How the pieces are joined. What is left of each is a list or a bound, which only shrinks.


def own_imports() -> dict[str, set[str]]:
    """The modules of larbinpy that each module imports."""
    return {name: (imports(name) & MODULES.keys()) - {name} for name in MODULES}


def code_lines(module: str) -> int:
    """The number of lines with a token that is neither a comment nor a docstring."""
    texts: set[int] = set()
    for node in ast.walk(trees()[module]):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                texts |= {*range(first.lineno, (first.end_lineno or 0) + 1)}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(MODULES[module].read_text()).readline):
        if token.type not in SPACE:
            lines |= {*range(token.start[0], token.end[0] + 1)}
    return len(lines - texts)


def test_a_module_serves_more_than_its_neighbour() -> None:
    """One of at most 80 lines that one module of its folder reads is a part of that module."""
    users: dict[str, list[str]] = {}
    for name, others in own_imports().items():
        for other in others:
            users.setdefault(other, []).append(name)
    alone = {
        name.removeprefix("larbinpy.")
        for name, [reader, *more] in users.items()
        if not more and reader.rpartition(".")[0] == name.rpartition(".")[0]
        if MODULES[name].name != "__init__.py"
    }
    assert {each for each in alone if code_lines(f"larbinpy.{each}") <= 80} <= set(PARTS.split())


def test_the_joints_are_few() -> None:
    own = own_imports()
    edges = {(name, other) for name, others in own.items() for other in others}
    arrows = {(room(name), room(other)) for name, other in edges} - {
        (each, each) for each in LEVELS
    }
    counts = {"modules": len(own), "edges": len(edges), "arrows": len(arrows)}
    assert {what: count for what, count in counts.items() if count > JOINTS[what]} == {}


@cache
def classes() -> list[tuple[str, ast.ClassDef]]:
    """All classes, each with the name of its module."""
    return [
        (name, node)
        for name, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    ]


def test_a_public_class_has_a_name_of_its_own() -> None:
    names = Counter(node.name for _, node in classes() if not node.name.startswith("_"))
    assert {name for name, count in names.items() if count > 1} <= set(SHARED.split())


def base_names(node: ast.ClassDef) -> set[str]:
    return {ast.unparse(each).partition("[")[0].rpartition(".")[2] for each in node.bases}


@cache
def members(node: ast.ClassDef) -> set[str]:
    """The names of the methods and attributes of a class, with those that it inherits."""
    found = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
    for each in ast.walk(node):
        targets = each.targets if isinstance(each, ast.Assign) else []
        targets = [each.target] if isinstance(each, ast.AnnAssign) else targets
        for target in targets:
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            found |= {ast.unparse(part).removeprefix("self.") for part in parts}
    inherited = base_names(node)
    return found.union(*(members(base) for _, base in classes() if base.name in inherited))


def test_a_protocol_has_more_than_one_implementation() -> None:
    """Otherwise the class itself is named, or a callable. Plugs of users have any number."""
    protocols = {node for _, node in classes() if "Protocol" in base_names(node)}
    others = [members(node) for _, node in classes() if node not in protocols]
    single = {
        f"{name.removeprefix('larbinpy.')}.{node.name}"
        for name, node in classes()
        if node in protocols and sum(members(node) <= there for there in others) < 2
    }
    assert single <= set(SINGLE.split())


def forwards(method: ast.stmt) -> bool:
    """Whether a method only calls, or returns, what has its name in an attribute of its object."""
    if not isinstance(method, ast.FunctionDef):
        return False
    lines = [
        each for each in method.body if not isinstance(getattr(each, "value", None), ast.Constant)
    ]
    if len(lines) != 1 or not isinstance(lines[0], ast.Return | ast.Expr):
        return False
    value = lines[0].value
    value = value.func if isinstance(value, ast.Call) else value
    if not isinstance(value, ast.Attribute) or not isinstance(value.value, ast.Attribute):
        return False
    return value.attr == method.name and ast.unparse(value.value.value) == "self"


def test_few_methods_only_forward() -> None:
    found = [
        f"{name}:{node.name}.{method.name}"
        for name, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for method in node.body
        if forwards(method) and isinstance(method, ast.FunctionDef)
    ]
    assert len(found) <= FORWARDERS, found


def test_a_constructor_takes_few_arguments() -> None:
    taken = {
        f"{name.removeprefix('larbinpy.')}.{node.name}": len(
            [*method.args.posonlyargs, *method.args.args, *method.args.kwonlyargs]
        )
        for name, node in classes()
        for method in node.body
        if isinstance(method, ast.FunctionDef) and method.name == "__init__"
    }
    # The object is one more.
    assert {each: count - 1 for each, count in taken.items() if count > 9} == LARGE


def test_the_context_has_no_parts() -> None:
    """It cannot name one, as it stands below all of them."""
    assert LEVELS["larbinpy.context"] <= LEVELS["larbinpy.frontier"]
    names = [each.name for each in fields(Context)]
    assert names == ["config", "poller", "clock", "wall", "stats", "closing", "tuning"]
