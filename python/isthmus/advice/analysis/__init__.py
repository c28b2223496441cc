"""What a prediction consists of: simulations, what-ifs, and where the time goes."""
