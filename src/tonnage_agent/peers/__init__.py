"""Before the command starts: can every node of the gang reach every other, and how fast?"""
