"""The contract of pages, and the window's services to them: actions, messages, jobs, files."""
