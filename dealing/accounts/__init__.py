"""How people come in and stay in: lock-out, second factor, passkeys, sessions, and the log of all that."""
