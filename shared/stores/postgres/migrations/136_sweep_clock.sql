-- What the clock said when expired records were swept last, in one row: a clock that has jumped since must not make what is kept look expired. `held_at`:
-- when it was last found to have jumped.
CREATE TABLE sweep_clock (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  last_at timestamptz NOT NULL,
  held_at timestamptz
);
