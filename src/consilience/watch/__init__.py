"""Runs in the browser: what a run has written enters, a page that shows it leaves; the run itself is not touched."""
