"""Ridge regression with a kernel on all rows: kernels, their likelihood, and the systems of equations to solve."""
