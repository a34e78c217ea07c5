"""The cheapest way to run a training step that fits and keeps the global batch.

setup      one complete choice: the recipe of every rank, and the devices
space      the choices that are allowed, and why others are not
judging    what a setup needs, how long a step takes, what an hour costs (asked, not known here)
searching  the cheapest setup that fits, and the next best of other kinds
fixing     the smallest single change that makes it fit
explaining each step from what was asked to what is proposed, and what was left aside
parts      a MIG slice, a shared GPU, or the price of the idle part of a whole one
"""
