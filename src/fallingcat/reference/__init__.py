"""The papers' algorithms as they are printed, corrected: dense, slow and line by line, to be read beside the paper."""
