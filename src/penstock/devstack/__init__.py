"""The local Kafka broker, the archives and the Java it needs: everything that Penstock starts beside itself."""
