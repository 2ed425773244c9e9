"""What all readers of other programs' graphs share: tables of rules, the walk, axes, loops, places in errors.

Names of operations, operands and forms as another program has them in, tensors out. Nothing of that program is imported
here.
"""
