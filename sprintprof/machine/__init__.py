"""Machine facts: one TOML schema."""
