"""What will happen, as data: steps, the passes that carry them out, and the same in words."""
