"""One verb a file: a DataFrame in, a DataFrame out."""
