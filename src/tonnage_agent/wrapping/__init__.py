"""The command as our child: started, heard, signalled, reaped."""
