-- What was deleted of late is asked for again and again, and the markers are kept for ever.
CREATE INDEX deletion_markers_deleted ON deletion_markers (deleted_at);
