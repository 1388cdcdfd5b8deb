"""From a suite and a selection to a results file: plan, order, execution, progress."""
