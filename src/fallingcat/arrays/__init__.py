"""What a user passes and gets: arguments, memory of results, runs without compiled code."""
