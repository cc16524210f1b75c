"""What the engine runs: a question through its graph of steps, files into the library, and with which parts."""
