"""What writers of graphs for engines share: rules over an engine's arrays, and formulas of scalar functions."""
