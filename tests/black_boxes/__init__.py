"""Programs with functions of NumPy in the idioms of PyMC's and PyTensor's users, and what real PyMC says of them."""
