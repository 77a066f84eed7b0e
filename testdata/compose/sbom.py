#!/usr/bin/env python3
"""Compares the list of what a binary is made of with what "go version -m" says
that it is made of: sbom.py LIST SAID."""

import json
import re
import sys

listed = {c["name"] for c in json.load(open(sys.argv[1]))["components"] if c["type"] == "library"}
modules = set(re.findall(r"^\tdep\t(\S+)", open(sys.argv[2]).read(), re.M))
missing = modules - listed
print(f"# {len(listed)} parts are listed, {len(modules)} modules are in the binary; not listed: {', '.join(sorted(missing)) or 'none'}")
sys.exit(bool(missing) or not modules)
