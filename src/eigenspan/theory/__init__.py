"""Why methods agree: the kernel behind each, and the theorems that join them."""
