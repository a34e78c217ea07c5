"""What people see: view models shared by the terminal and by `-o json`."""
