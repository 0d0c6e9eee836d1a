"""From a table, a figure or a pattern to what is to be trained and certified, and to a verdict beside the paper."""
