"""The page Explore: page, workspace, preview, runs, sessions."""
