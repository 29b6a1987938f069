-- The first workflow whose rows may have scores of former outputs: none has ended since that computes them. Of older runs it is not known.
ALTER TABLE experiments ADD COLUMN scores_left_from integer NOT NULL DEFAULT 1;
