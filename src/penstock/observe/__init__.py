"""What can be seen of a pipeline. This room reads only."""
