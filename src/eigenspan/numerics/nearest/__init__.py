"""Finding near points: distances between them, lists of the nearest, and the engines of the search."""
