"""The object a user holds: thin methods over compiled functions, one file per family."""
