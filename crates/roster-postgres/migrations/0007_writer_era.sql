-- A writer states the era that its batch was decided in. The constraint refuses a batch of another
-- era. The column is null until the first batch of an era.

ALTER TABLE log_head ADD COLUMN writer_era bigint
    CONSTRAINT log_head_era CHECK (writer_era = era);
