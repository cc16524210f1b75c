"""Questions and texts with known answers, made from the shared data, for `training` and `benchmarks` alike."""
