"""The Settings page: models and services, the strategies, costs, the program."""
