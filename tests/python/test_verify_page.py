"""The examples in docs/verify-a-kernel.md run as the page shows them: files are written, commands print the
lines below them (in this order, others between; numbers are not compared)."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from environment import plain_environment

SOURCE = Path(__file__).resolve().parents[2]
BUILD = os.environ.get("TAPESTRY_BUILD_DIR")
TEXT = (SOURCE / "docs/verify-a-kernel.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)

try:
    import pytest
except ImportError:
    pytest = None


def without_numbers(line):
    return re.sub(r"-?\b(\d[\d.]*(e[+-]?\d+)?|nan|inf)\b", "#", line).strip()


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        for language, text in BLOCKS:
            name = re.match(r"# (\w+\.py)\n", text)
            if language == "python" and name:
                Path(cls.directory.name, name[1]).write_text(text)

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def test_commands(self):
        commands = [text for language, text in BLOCKS if language == "text" and text.startswith("$ ")]
        self.assertGreater(len(commands), 3)
        for text in commands:
            command, *lines = text[2:].splitlines()
            if "pytest" in command and pytest is None:
                continue
            with self.subTest(command):
                printed = self.output_of(command)
                found = iter(map(without_numbers, printed.splitlines()))
                for line in lines:
                    self.assertIn(without_numbers(line), found, f"{line}\nis not in\n{printed}")

    def output_of(self, command):
        command = command.replace("python3 ", f"'{sys.executable}' ")
        command = command.replace(" pytest ", " pytest -p no:cacheprovider ")
        return subprocess.run(["sh", "-c", command], cwd=self.directory.name, env=plain_environment(), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout  # fmt: skip

    @unittest.skipUnless(BUILD and shutil.which("cc"), "no C compiler, or not called by ctest")
    def test_c(self):
        (program,) = (text for language, text in BLOCKS if language == "c")
        path = Path(self.directory.name, "kernel.c")
        path.write_text(program)
        command = ["cc", "-std=c99", "-Wall", "-Werror", f"-I{BUILD}/include", f"-L{BUILD}", path]
        with tempfile.TemporaryDirectory(dir=BUILD) as runs:  # programs may not run in /tmp
            command += [f"-Wl,-rpath,{BUILD}", "-ltapestry_gradcheck", "-lm", "-o", f"{runs}/kernel"]
            subprocess.run(command, check=True)
            printed = subprocess.check_output([f"{runs}/kernel"], text=True)  # raises if it exits with 1
        self.assertTrue(printed.startswith("FAIL  softmax"), printed)


if __name__ == "__main__":
    unittest.main()
