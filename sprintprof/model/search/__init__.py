"""Search for the configuration that meets a target best: a grid by moments, distributions for the few that matter."""
