"""What the commands show: reports, papers, the cat, drawings, the bench."""
