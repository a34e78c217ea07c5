"""The part of Tonnage that runs inside a training pod. Standard library only: it must cost other people's
images nothing.
"""
