"""How far the training is: told by the SDK over a socket, or read from the lines the command prints."""
