"""Does a test behind a row of the equation map fail when the equation is wrong? Changed sources, one place at a time."""
