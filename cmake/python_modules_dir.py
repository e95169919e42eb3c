"""Prints where this Python looks for modules under a prefix: the first such directory of its path (or
of a user's own, or of a Debian's), else what is usual.

    python_modules_dir.py PREFIX
"""

import os
import site
import sys

prefix = os.path.realpath(sys.argv[1])
for path in [*site.getsitepackages(), site.getusersitepackages()]:
    if os.path.realpath(path).startswith(prefix + os.sep + "lib"):
        print(path)
        break
else:
    print(f"{prefix}/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages")
