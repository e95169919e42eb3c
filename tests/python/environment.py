"""The environment of the programs that tests start: without what changes their output."""

import os

CHANGES = ("CLICOLOR_FORCE", "FORCE_COLOR", "PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTHONWARNINGS")


def plain_environment():
    kept = {name: value for name, value in os.environ.items() if name not in CHANGES}
    # Plugins of pytest that happen to be installed print and order in their own ways.
    return kept | {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
                   "NO_COLOR": "1", "PY_COLORS": "0", "PYTHON_COLORS": "0"}  # fmt: skip
