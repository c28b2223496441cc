"""The search for the best algorithm at every size: what is simulated, and what is known without it."""
