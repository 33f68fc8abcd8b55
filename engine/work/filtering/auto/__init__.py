"""The planner behind `auto`: which variants suit a problem, and which is the fastest by measured costs."""
