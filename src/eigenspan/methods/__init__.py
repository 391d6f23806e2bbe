"""The methods, one file per form. Each is a few lines over `eigenspan.core`."""
