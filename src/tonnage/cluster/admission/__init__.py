"""What the API server does to an object before it is stored: default it, wall it in, refuse it.

`admitting.admit` runs the whole order as the server does; the other files hold one step each.
"""
