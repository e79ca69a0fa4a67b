"""Reports of a model on the rows of a table: what it says, as numbers, and a page that shows them."""
