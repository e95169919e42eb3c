"""All tests of this folder, and a line for each that is skipped, as ./check wants it (tests/skip.sh).

    run.py [NAME...]
"""

import sys
import unittest
from pathlib import Path

here = Path(__file__).parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(here))
loader = unittest.TestLoader()
names = sys.argv[1:] or sorted(test.stem for test in here.glob("test_*.py"))
result = unittest.TextTestRunner().run(loader.loadTestsFromNames(names))
for test, reason in result.skipped:
    print(f"skipped: python: {test.id()}: {reason}")
sys.exit(0 if result.wasSuccessful() and result.testsRun > 0 else 1)
