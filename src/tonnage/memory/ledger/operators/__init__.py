"""What each eager operation makes, saves for backward, and makes again in backward."""
