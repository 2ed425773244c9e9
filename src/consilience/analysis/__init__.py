"""What is known of a graph: which axes follow which, what it costs, what its values depend on."""
