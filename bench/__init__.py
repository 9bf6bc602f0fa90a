"""The bench: `python -m bench`."""
