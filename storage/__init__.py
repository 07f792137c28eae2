"""Everything that outlives a process: embedded servers, pools, encryption, migrations and one module a table."""
