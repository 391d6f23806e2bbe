"""Numbers on the edges of a graph: affinities, path similarities and reconstruction weights."""
