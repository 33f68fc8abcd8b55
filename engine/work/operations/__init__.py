"""Operations on pictures beside filtering with a mask: each with its float64 (or whole-number) oracle."""
