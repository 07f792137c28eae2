"""`make bench`: what a turn costs, as ratios within one run. Everything stays on this machine and ends by itself."""
