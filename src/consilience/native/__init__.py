"""Machine code in this process: loop programs and typed Python in, addresses of functions out.

The loop language, its emission as LLVM text, the loader with its cache on disk, vector mathematics and
BLAS each live in a module of their own; nothing is imported here.
"""
