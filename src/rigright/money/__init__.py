"""What machines cost: prices of cards and parts, hosts around them, rent, power by the hour, the years."""
