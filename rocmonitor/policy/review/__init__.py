"""Champion against challenger: what is compared, by which rule it is decided, and what a review is."""
