"""Every sentence of the product, composed from facts."""
