"""The programs in docs/python.md run, and find what stands there. (Digits and counts are not compared:
they move with the checker.)"""

import contextlib
import io
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
BUILD = os.environ.get("TAPESTRY_BUILD_DIR")
TEXT = (SOURCE / "docs/python.md").read_text(encoding="utf-8")


def program(language):
    """The one in that language, and the report after it."""
    return re.search(rf"```{language}\n(.*?)```\n\n```text\n(.*?)```", TEXT, re.DOTALL).groups()


def findings(report):
    """The verdict, and what the mistake looks like."""
    return report.split()[0], re.findall(r"looks like +(.*)", report)


class Programs(unittest.TestCase):
    def test_python(self):
        source, shown = program("python")
        try:
            import torch  # noqa: F401
        except ImportError:
            self.skipTest("no PyTorch here (Debian: python3-torch)")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(source, "docs/python.md", "exec"), {})
        self.assertEqual(findings(printed.getvalue()), findings(shown))

    @unittest.skipUnless(BUILD and shutil.which("cc"), "no C compiler, or not called by ctest")
    def test_c(self):
        source, shown = program("c")
        with tempfile.TemporaryDirectory(dir=BUILD) as directory:  # programs may not run in /tmp
            path = Path(directory, "example.c")
            path.write_text(source)
            command = ["cc", "-std=c99", "-Wall", "-Werror", f"-I{BUILD}/include", f"-L{BUILD}", path]
            command += [f"-Wl,-rpath,{BUILD}", "-ltapestry_gradcheck", "-lm", "-o", f"{directory}/example"]
            subprocess.run(command, check=True)
            printed = subprocess.check_output([f"{directory}/example"], text=True)
        self.assertEqual(findings(printed), findings(shown))


if __name__ == "__main__":
    unittest.main()
