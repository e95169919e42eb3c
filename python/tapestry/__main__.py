"""The checker as a command, for scripts and CI.

    python -m tapestry check module:function [--json] [--seed N]

`function` takes no arguments, or one called seed, and returns a report, several in a list or a tuple, or a
dictionary of them by name. The module may also be a path: kernels/norm.py:check_rms_norm.
"""

import argparse
import importlib
import importlib.util
import inspect
import json
import os
import sys
import traceback

from ._checks import default_seed
from ._report import Report

_STATUS = {"PASS": 0, "FAIL": 1, "INCONCLUSIVE": 3}  # as those of `tapestry gradcheck`
_NO_VERDICT = 2  # argparse's own status


class WrongUse(Exception):
    """A call that cannot be carried out as written."""


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m tapestry",
        description="Check a gradient and exit with its verdict: 0 PASS, 1 FAIL, 3 INCONCLUSIVE, "
        "2 if there is none (wrong use, or an exception).",
    )
    check = parser.add_subparsers(dest="command", required=True).add_parser(
        "check", help="call a function that returns reports, and print them"
    )
    check.add_argument("target", metavar="module:function", help="the module may be a path to a .py file")
    check.add_argument("--json", action="store_true", help="print one JSON object")
    check.add_argument("--seed", type=int, help="seed of all checks that do not set one")
    return parser


def _module(name):
    if not name.endswith(".py"):
        return importlib.import_module(name)
    if not os.path.exists(name):
        raise WrongUse(f"no file {name}")
    sys.path.insert(0, os.path.dirname(os.path.abspath(name)))
    spec = importlib.util.spec_from_file_location(os.path.basename(name)[:-3], name)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _function(target):
    module, colon, name = target.rpartition(":")
    if not (module and colon and name):
        raise WrongUse(f"expected module:function, got {target}")
    found = _module(module)
    for part in name.split("."):
        if not hasattr(found, part):
            raise WrongUse(f"{module} has no {name}")
        found = getattr(found, part)
    if not callable(found):
        raise WrongUse(f"{target} is {type(found).__name__}, expected a function")
    return found


def _reports(function, seed):
    """(name, report) of each that the function returned."""
    takes_seed = "seed" in inspect.signature(function).parameters
    with default_seed(seed):
        returned = function(seed=1 if seed is None else seed) if takes_seed else function()
    if isinstance(returned, Report):
        returned = {getattr(function, "__name__", "check"): returned}
    elif isinstance(returned, (list, tuple)):
        returned = {str(i): report for i, report in enumerate(returned)}
    if not isinstance(returned, dict) or not returned:
        raise WrongUse(f"expected a report, or several, from the function, got {returned!r}")
    for name, report in returned.items():
        if not isinstance(report, Report):
            raise WrongUse(f"expected reports from the function, got {type(report).__name__} as {name}")
    return list(returned.items())


def _worst(verdicts):
    return next(v for v in ("FAIL", "INCONCLUSIVE", "PASS") if v in verdicts)


def _print(text):
    """Characters that the output lacks are escaped: an exception would have the status of a FAIL."""
    try:
        print(text)
    except UnicodeEncodeError:
        encoding = sys.stdout.encoding
        print(text.encode(encoding, "backslashreplace").decode(encoding))


def main(arguments=None):
    """The exit status."""
    options = _parser().parse_args(arguments)
    try:
        reports = _reports(_function(options.target), options.seed)
    except WrongUse as error:
        print(f"python -m tapestry: {error}", file=sys.stderr)
        return _NO_VERDICT
    except SystemExit as end:  # its status would be taken for a verdict
        print(f"python -m tapestry: {options.target} called sys.exit({end.code!r})", file=sys.stderr)
        return _NO_VERDICT
    except KeyboardInterrupt:
        raise
    except BaseException:  # also pytest's Skipped, whose status would be 1
        traceback.print_exc()
        return _NO_VERDICT
    verdict = _worst([report.verdict for _, report in reports])
    if options.json:
        results = [{"name": str(name), **report.to_dict()} for name, report in reports]
        _print(json.dumps({"verdict": verdict, "target": options.target, "results": results}))
    else:
        for name, report in reports:
            _print(str(report) if len(reports) == 1 else f"{name}: {report}")
    return _STATUS[verdict]


if __name__ == "__main__":
    sys.exit(main())
