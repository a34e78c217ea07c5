"""Runs a user's training step in their own interpreter behind a virtual GPU, and writes down what it saw.

This package is loaded by a path, never installed into the user's environment, so it imports torch and the
standard library alone and stays readable by Python 3.10.
"""
