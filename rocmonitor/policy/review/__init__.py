"""Champion against challenger: the comparisons, the rule that decides, and the review as a value."""
