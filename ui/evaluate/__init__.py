"""The Evaluate page: question sets, evaluations, their results and differences."""
