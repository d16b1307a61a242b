"""The demo: a million payments through a real broker, a pipeline that is killed twice, and every offset counted afterwards."""
