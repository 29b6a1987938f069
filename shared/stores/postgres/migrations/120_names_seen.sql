-- Names are unique among what their user sees: a name that is taken by something they may not see must not say so.
DROP INDEX projects_name;
CREATE INDEX projects_name ON projects (name);
DROP INDEX annotation_queues_name;
CREATE INDEX annotation_queues_name ON annotation_queues (name);
