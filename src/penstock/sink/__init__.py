"""Sinks: rows and a token in, `Written` or `AlreadyWritten` out."""
