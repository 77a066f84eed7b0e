#!/usr/bin/env python3
"""Prints the commands that a README gives for the stack, one a line, as they are
written: what its text between "With Docker" and the next heading sets as code
and begins with docker or redis-cli."""

import re
import sys

text = open(sys.argv[1]).read()
about = re.search(r"\bWith Docker\b(.*?)^## ", text, re.S | re.M)
if not about:
    sys.exit(f'{sys.argv[1]} has no text that begins with "With Docker"')
code = re.findall(r"^ {4}(.*)$|`([^`]+)`", about[1], re.M)
for block, span in code:
    command = " ".join((block or span).split())
    if re.match(r"(docker|redis-cli) ", command):
        print(command)
