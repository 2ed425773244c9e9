"""How users' names and arguments are answered: what is absent, older, elsewhere, or wrong, and what many share."""
