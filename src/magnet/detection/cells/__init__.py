"""Wrong cells: values that neither their column nor their context explains."""
