"""Django's PostgreSQL backend, telling row-level security with every statement where the code acts."""
