"""From a document, an estimate, a cluster and prices to a plan; pure."""
