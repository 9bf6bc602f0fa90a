"""`python -m fallingcat` is the command `fallingcat`."""

import sys

from fallingcat.cli.main import main

sys.exit(main())
