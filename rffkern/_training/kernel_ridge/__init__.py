"""Ridge regression with a kernel on all rows: length scales, regions, and the systems of equations to solve."""
