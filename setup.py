"""Declares the compiled module, for which setup.cfg has no table.

It is optional: without a compiler the installation succeeds, and the Python code that the module
replaces does the work.
"""

from pathlib import Path
from shutil import copy

from setuptools import Extension, setup
from setuptools.command.build_py import build_py

NATIVE = Path("larbinpy", "native")


class BuildWithExample(build_py):
    """Puts larbin.conf into the package, where `larbinpy init` finds it."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            copy("larbin.conf", Path(self.build_lib, "larbinpy"))


#: Manual pages and completions, which only scripts/dist makes; they keep their places in share/.
SHARED = sorted(path for path in Path("share").rglob("*") if path.is_file())

setup(
    cmdclass={"build_py": BuildWithExample},
    data_files=[(str(path.parent), [str(path)]) for path in SHARED],
    ext_modules=[
        Extension(
            "larbinpy.native._native",
            sources=sorted(str(path) for path in NATIVE.glob("*.c")),
            depends=sorted(str(path) for path in NATIVE.glob("*.h")),
            extra_compile_args=[
                "-std=c11",
                "-O2",
                "-fno-plt",
                "-fvisibility=hidden",
                "-Wall",
                "-Wextra",
            ],
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            py_limited_api=True,
            optional=True,
        )
    ],
)
