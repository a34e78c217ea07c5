"""Right-sizing: policies that turn the past into a limit, and the back-test that says what each would have cost."""
