"""The only room that starts anything: the session, the query, the batches, the supervisor.

Its files import much of PySpark, which an old one answers with an ImportError from somewhere: it is named here, first.
"""

from penstock.run.fit import demand_pyspark

demand_pyspark()
