"""Usage, circuit breakers, queues, cancellation, rate limits, connections and child processes."""
