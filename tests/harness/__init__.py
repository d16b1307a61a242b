"""What the system tests share: a load, a pipeline as a process that can be killed, and an oracle that counts for itself."""
