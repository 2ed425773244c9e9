"""From graph to loops over buffers: all decisions about memory and time are made here."""
