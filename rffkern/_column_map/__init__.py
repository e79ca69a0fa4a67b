"""Tables of any kind as columns of numbers, and the map that a fit learns of them."""
