"""For tests of this project and of anybody's parts: fakes beside the protocols they implement."""
